// Package redisurl makes a Redis client from a URL, for programs that are configured
// by texts.
//
//	redis://user:password@host:6379/3
//	rediss://user:password@host:6379/3                  TLS
//	unix://user:password@/run/redis.sock?db=3
//	redis-sentinel://user:password@h1:26379,h2:26379/3?master_name=mymaster
//	redis-cluster://user:password@h1:6379,h2:6379
//
// rediss-sentinel and rediss-cluster are those with TLS. User and password are
// those of Redis; Sentinels may have their own, in the parameters
// sentinel_username and sentinel_password. The other parameters are go-redis',
// such as pool_size and read_timeout; skip_verify=true takes any certificate.
//
// Certificates are checked against the roots of the system, each server's by the
// address it is reached at. Roots, client certificates and names of your own
// have no place in a URL: make the client yourself then.
//
// An error says what is wrong with the URL, and never repeats what may be a
// password. Nothing here speaks to a server.
package redisurl
