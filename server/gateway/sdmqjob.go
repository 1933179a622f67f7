package gateway

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// job is what identifies a job of sdmq. Two that are equal in all of it merge while they wait.
type job struct {
	ID       string `json:"id,omitempty"` // given by who sends it
	BizKey   string `json:"bizKey,omitempty"`
	Subtopic string `json:"subtopic,omitempty"`
	Body     string `json:"body"`
}

// gotJob is a job as it is taken.
type gotJob struct {
	job
	Topic   string `json:"topic"`
	JobID   string `json:"jobId"`   // for /delete and /reStoreJob
	Receipt string `json:"receipt"` // for /finish
	Attempt int    `json:"attempt"`
}

// content is the content of the message: the body alone where there is nothing else, so that other workers get just that.
func (j job) content() string {
	if j == (job{Body: j.Body}) {
		return j.Body
	}
	text, _ := json.Marshal(j) // of texts it cannot fail
	return string(text)
}

// jobOf reads a content. One that is not made from a job is the body of one.
func jobOf(content string) (j job) {
	if json.Unmarshal([]byte(content), &j) == nil && j.content() == content && j != (job{Body: j.Body}) {
		return j
	}
	return job{Body: strings.ToValidUTF8(content, string(utf8.RuneError))}
}

// jobID names a message without a table: the topic, and the content in base64.
func jobID(topic, content string) string {
	return topic + ":" + base64.RawURLEncoding.EncodeToString([]byte(content))
}

func parseJobID(id string) (topic, content string, is bool) {
	at := strings.LastIndexByte(id, ':')
	if at < 1 {
		return "", "", false
	}
	text, err := base64.RawURLEncoding.DecodeString(id[at+1:])
	return id[:at], string(text), err == nil && len(text) > 0
}
