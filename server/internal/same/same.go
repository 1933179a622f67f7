// Package same lets the server compile only with the same version of the module it is made for.
package same

import "github.com/slotmq/go-rmq/internal/version"

const _ = version.EveryModuleMustBe_v0_1_0
