// Package tokens says who may do what over HTTP, by bearer tokens. A file has only their hashes.
//
//	{"tokens": [
//	  {"name": "shop", "sha256": "9f86d0…", "rights": ["send"], "topics": ["orders", "mails-*"]},
//	  {"name": "python-workers", "sha256": "60303a…", "rights": ["take", "look"], "topics": ["*"]}
//	]}
//
// The rights are send, take, look and act. In a topic, * is for any text.
package tokens
