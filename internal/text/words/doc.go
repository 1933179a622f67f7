// Package words writes numbers and texts as people read them:
//
//	words.Count(4812, "message") // 4,812 messages
//	words.Legible("a\x1b[31m")   // "a\x1b[31m", in quotation marks: it would not look like itself
//	words.Shorten(content, 1000) // its beginning, and "…"
//
// [Text] is for texts of any bytes in JSON: as people read them where they are UTF-8.
//
// Times are for package humantime, and other languages than English for no one here.
package words
