// Package tokens says who may do what over HTTP: bearer tokens, of which a file has only the hashes.
//
//	{"tokens": [
//	  {"name": "shop", "sha256": "9f86d0…", "rights": ["send"], "topics": ["orders", "mails-*"]},
//	  {"name": "python-workers", "sha256": "60303a…", "rights": ["take", "look"], "topics": ["*"]}
//	]}
//
// The rights are send, take, look and act. In a topic, * is for any text.
package tokens
