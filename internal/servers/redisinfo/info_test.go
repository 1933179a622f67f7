package redisinfo

import "testing"

func TestParse(t *testing.T) {
	t.Parallel()
	i := Parse("# Server\r\nredis_version:7.0.15\r\n\r\n# Replication\r\nconnected_slaves:2\r\nslave0:ip=127.0.0.1,port=1,lag=0\r\nno field\r\n")
	if i["redis_version"] != "7.0.15" || i["slave0"] != "ip=127.0.0.1,port=1,lag=0" || i.Number("connected_slaves") != 2 || i.Number("redis_version") != 0 || len(i) != 3 {
		t.Errorf("%v", i)
	}
}

func TestAtLeast(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"6.2.0": true, "6.2": true, "7.0.15": true, "10.0.1": true, "6.0.16": false, "5.0.14": false, "": true, "unstable": true, "x.y.z": true,
	} {
		if got := (Info{"redis_version": version}).AtLeast(6, 2); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
}
