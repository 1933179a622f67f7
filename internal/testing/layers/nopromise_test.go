package layers

// What is no promise of RMQ in the documents that promise: parts of them, and phrases, with what their numbers are.
var (
	readmeSections = map[string]string{
		"Why not another queue": "of other queues",
		"How fast":              "measured",
	}
	readmePhrases = map[string]string{
		"Try your Redis in ten seconds": "measured",
	}
	referenceSections = map[string]string{
		"The examples": "of the examples",
	}
	referencePhrases = map[string]string{
		"the others wait 4 ms at p99":                                       "measured",
		"With 10,000 messages due, an hour costs each worker less than 200": "an example",
		"an equal message within, say, a day is":                            "an example",
		"1 s if other programs fill topics by plain":                        "advice",
		"[0.2 to 0.9 s longer]":                                             "measured",
		"stood still for less than 10 ms when it was measured":              "measured",
	}
	protocolSections = map[string]string{
		"10 Proofs and transcripts": "examples",
	}
	protocolPhrases = map[string]string{
		"and answers `EMPTY` with 0 ms":                             "at once",
		"is about 0.1 ms in one network,":                           "measured",
		"with ZooKeeper | two session timeouts and 2 s;":            "a sum with the delays that are promised; TestCutOffFromRedis holds it",
		"works at the slots **two session timeouts and 2 s** after": "the same",
		"ZooKeeper's limit is 1 MiB.":                               "of ZooKeeper",
		"(10 s are five of the usual 2 s.":                          "of ZooKeeper",
		"(3.5 to 4 s with a session of 10 s);":                      "a sum of what is promised",
	}
	deploymentSections = map[string]string{
		"Settings":                   "of Redis",
		"How long slots stand still": "measured",
		"What is lost when":          "measured",
	}
	deploymentPhrases = map[string]string{
		"A message of 100 bytes with its end takes about 0.4 KB in SQLite and MariaDB, 0.5 KB in PostgreSQL: a million a day, kept for a week, 3 GB.": "measured",
		"0.8 writes a second with 10 s, so 160 with 200 workers":                                                 "follows from eight times",
		"took [up to 0.9 s more](#how-long-slots-stand-still) when it was measured, and 1.6 s on a busy machine": "measured",
		"so 4 to 40 s with the default `tickTime` of 2 s;":                                                       "of ZooKeeper",
		"gets slots after about 4 s of 10,":                                                                      "a sum of what is promised",
		"Go below 5 s only if you know your pauses":                                                              "advice",
		"which is 8 s with the usual tick of 2 s: with less":                                                     "of ZooKeeper",
		"and give `Close` 5 s less":                                                                              "advice",
		"another one works at them 2 s later at the latest":                                                      "a sum with the delays that are promised; TestCutOffFromRedis holds it",
	}
	httpPhrases     map[string]string
	journalSections = map[string]string{
		"What it costs": "measured",
	}
	journalPhrases = map[string]string{
		"and one day somebody replaces it": "a story",
		"at last each 100 ms |":            "of SQLite",
	}
	consolePhrases = map[string]string{
		"is read about once in ten minutes,": "measured",
	}
)
