package console

import "github.com/slotmq/go-rmq/server/console/internal/pages"

// allPages are the pages, by what follows the last / of their address.
func allPages() map[string]*page {
	return map[string]*page{
		"":          {title: "Topics", load: loadTopics, live: true, text: pages.Of("topics")},
		"topic":     {title: "Topic", load: loadTopic, live: true, text: pages.Of("topic")},
		"workers":   {title: "Workers", load: loadWorkers, live: true, text: pages.Of("workers")},
		"doctor":    {title: "Doctor", load: loadDoctor, text: pages.Of("doctor")},
		"message":   {title: "Message", load: loadMessage, live: true, asks: true, post: askByForm, text: pages.Of("message")},
		"find":      {title: "Find a message", load: loadFind, asks: true, post: askByForm, text: pages.Of("find")},
		"messages":  {title: "Messages", load: loadMessages, asks: true, text: pages.Of("messages")},
		"dead":      {title: "Dead messages", load: loadDead, asks: true, text: pages.Of("dead")},
		"requeue":   {title: "Requeue dead messages", load: loadAsk, asks: true, post: doRequeue, acts: true, text: pages.Of("requeue")},
		"delete":    {title: "Delete dead messages", load: loadAsk, asks: true, post: doDelete, acts: true, text: pages.Of("delete")},
		"job":       {title: "Job", load: loadJob, live: true, text: pages.Of("job")},
		"recurring": {title: "Recurring messages", load: loadRecurring, live: true, text: pages.Of("recurring")},
		"stopplan":  {title: "Stop a plan", load: loadStopPlan, post: doStopPlan, acts: true, text: pages.Of("stopplan")},

		// These are asked by forms, and lead to one of the pages.
		"stop":       {post: doStop, acts: true},
		"cancel":     {post: doCancel, acts: true},
		"reschedule": {post: doReschedule, acts: true},
		"pause":      {post: doPause, acts: true},
		"resume":     {post: doResume, acts: true},
		"limit":      {post: doLimit, acts: true},

		"signin":  {title: "Sign in", load: showSignIn, post: doSignIn, text: pages.Of("signin")},
		"signout": {title: "Sign out", load: showSignIn, post: signOut, text: pages.Of("signin")},
	}
}
