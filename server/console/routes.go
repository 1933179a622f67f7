package console

// allPages are the pages, by what follows the last / of their address.
func (c *Console) allPages() map[string]*page {
	return map[string]*page{
		"":          {title: "Topics", load: (*visit).loadTopics, live: true, text: pageOf("topics")},
		"topic":     {title: "Topic", load: (*visit).loadTopic, live: true, text: pageOf("topic")},
		"workers":   {title: "Workers", load: (*visit).loadWorkers, live: true, text: pageOf("workers")},
		"doctor":    {title: "Doctor", load: (*visit).loadDoctor, text: pageOf("doctor")},
		"message":   {title: "Message", load: (*visit).loadMessage, live: true, asks: true, post: (*visit).askByForm, text: pageOf("message")},
		"find":      {title: "Find a message", load: (*visit).loadFind, asks: true, post: (*visit).askByForm, text: pageOf("find")},
		"messages":  {title: "Messages", load: (*visit).loadMessages, asks: true, text: pageOf("messages")},
		"dead":      {title: "Dead messages", load: (*visit).loadDead, asks: true, text: pageOf("dead")},
		"requeue":   {title: "Requeue dead messages", load: (*visit).loadRequeue, asks: true, post: (*visit).doRequeue, acts: true, text: pageOf("requeue")},
		"delete":    {title: "Delete dead messages", load: (*visit).loadDelete, asks: true, post: (*visit).doDelete, acts: true, text: pageOf("delete")},
		"job":       {title: "Job", load: (*visit).loadJob, live: true, text: pageOf("job")},
		"recurring": {title: "Recurring messages", load: (*visit).loadRecurring, live: true, text: pageOf("recurring")},
		"stopplan":  {title: "Stop a plan", load: (*visit).loadStopPlan, post: (*visit).doStopPlan, acts: true, text: pageOf("stopplan")},

		// These are asked by forms, and lead to one of the pages.
		"stop":       {post: (*visit).doStop, acts: true},
		"cancel":     {post: (*visit).doCancel, acts: true},
		"reschedule": {post: (*visit).doReschedule, acts: true},
		"pause":      {post: (*visit).doPause, acts: true},
		"resume":     {post: (*visit).doResume, acts: true},
		"limit":      {post: (*visit).doLimit, acts: true},

		"signin":  {title: "Sign in", load: (*visit).showSignIn, post: (*visit).doSignIn, text: pageOf("signin")},
		"signout": {title: "Sign out", load: (*visit).showSignIn, post: (*visit).signOut, text: pageOf("signin")},
	}
}
