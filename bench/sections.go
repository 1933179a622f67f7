package main

// sections in the order of the report.
var sections = []section{
	bothSection,
	sendSection,
	consumeSection,
	latenessSection,
	pacedSection,
	urgentSection,
	fairnessSection,
	flowSection,
	bottleneckSection,
	outageSection,
	partialSection,
	slotsSection,
	growthSection,
	processesSection,
	ablationsSection,
	journalSection,
	extrasSection,
	idleSection,
	polledSection,
	backlogSection,
	goalsSection,
}

// results are the figures of the last line.
var results = []string{
	"both_vs_asynq", "both_lowest", "both_vs_zadd", "redis_us", "client_us", "send_vs_zadd", "consume_vs_asynq", "growth_random",
	"late_p99_ms", "early", "paced50k_p99_ms", "paced50k_core", "idle_cmds", "polled_idle_cmds", "bytes_100", "allocs", "slots256",
}
