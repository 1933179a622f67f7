module github.com/slotmq/go-rmq

go 1.26.0

toolchain go1.26.8

require (
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/clipperhouse/displaywidth v0.11.0
	github.com/go-zookeeper/zk v1.0.4
	github.com/klauspost/crc32 v1.3.0
	github.com/redis/go-redis/v9 v9.22.0
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.10
	go.uber.org/goleak v1.3.0
	go.uber.org/zap v1.28.0
	golang.org/x/sys v0.50.0
	golang.org/x/term v0.48.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.uber.org/multierr v1.10.0 // indirect
)
