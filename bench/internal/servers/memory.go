package servers

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Free is how many bytes of memory this machine could give to new servers.
func Free() (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("look for free memory: %w", err)
	}
	kilobytes := number(strings.Trim(fields(string(text))["MemAvailable"], " kB"))
	if kilobytes == 0 {
		return 0, errors.New("look for free memory: /proc/meminfo does not tell MemAvailable")
	}
	return int64(kilobytes) << 10, nil
}
