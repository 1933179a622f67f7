package gateway

import "net/http"

// browsers tells requests apart that a page of another site has its browser make.
var browsers http.CrossOriginProtection

// ofOtherSites refuses changes by such requests. Without tokens, any page that a person on this machine opens could make
// them. Programs say nothing of where they come from, and are not meant.
func (c *call) ofOtherSites(r route) error {
	if !r.changes() {
		return nil
	}
	asked := c.r
	if asked.Method == http.MethodGet { // which browsers do not expect to change anything
		asked = new(http.Request)
		*asked = *c.r
		asked.Method = http.MethodPost
	}
	if browsers.Check(asked) == nil {
		return nil
	}
	return &problem{Type: "other-site", Status: http.StatusForbidden, Detail: "a page of another site asks for this, in a browser: only programs, and pages of this host, may change something"}
}
