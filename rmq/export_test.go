package rmq

import (
	"context"
	"time"
)

// LookEach is how often the client looks for the plans that it declares from now on.
func LookEach(c *Client, each time.Duration) { c.declared.each = each }

// LookForPlans looks once.
func LookForPlans(c *Client) { c.declared.look(context.Background()) }
