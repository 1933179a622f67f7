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
	workSection,
}

// results are the figures of the last line.
var results = []string{
	"both_vs_asynq", "both_lowest", "both_vs_zadd", "redis_us", "client_us", "send_vs_zadd", "consume_vs_asynq", "growth_random",
	"late_p99_ms", "early", "paced50k_p99_ms", "paced50k_core", "idle_cmds", "polled_idle_cmds", "bytes_100", "allocs", "slots256",
	"work_exp_p99_ms", "work_exp_vs_asynq", "work_bimodal_p99_ms", "work_bimodal_vs_asynq", "work_rare_p99_ms", "work_zipf_p99_ms",
	"work_retry_p99_ms", "work_due_p99_ms", "work_crowd_p99_ms", "work_alone", "work_met",
}
