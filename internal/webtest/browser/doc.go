// Package browser gives tests a real browser: Chromium without a window, one for a test process, started
// by the first test that asks and ended by [servertest.Main].
//
//	func TestMain(m *testing.M) { servertest.Main(m) }
//
//	p := browser.Open(t, browser.View{Width: 390, Dark: true})
//	p.Open(url)
//	p.Click("nav a[href$=doctor]")
//	p.WaitFor("h1", "Doctor")
//	p.Fine() // no error, no failed answer, no request to another server
//
// A [Page] is a tab with cookies and a cache of its own, closed with its test. It remembers what went wrong in it:
// errors in the console, exceptions, answers with an error, and requests to another server than the first page
// came from. Whatever a page is asked for ends within [Patience], and then the test fails and says what the
// page shows. Clicks and keys are those of a user: what lies under something else cannot be clicked.
//
// Three checks are of any page: [Page.Keyboard], [Page.Pale] for contrasts, and [Page.Unreadable] for names and roles.
//
// Without Chromium a test fails where servers are required, see package servertest, and is skipped elsewhere.
//
// The package knows nothing of RMQ's pages, and drives no other browser.
package browser
