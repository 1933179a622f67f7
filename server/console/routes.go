package console

// allPages are the pages, by what follows the last / of their address.
func (c *Console) allPages() map[string]*page {
	return map[string]*page{
		"":        {title: "Topics", load: (*visit).loadTopics, live: true, text: pageOf("topics")},
		"topic":   {title: "Topic", load: (*visit).loadTopic, live: true, text: pageOf("topic")},
		"workers": {title: "Workers", load: (*visit).loadWorkers, live: true, text: pageOf("workers")},
		"doctor":  {title: "Doctor", load: (*visit).loadDoctor, text: pageOf("doctor")},
		"signin":  {title: "Sign in", load: (*visit).showSignIn, post: (*visit).doSignIn, text: pageOf("signin")},
		"signout": {title: "Sign out", load: (*visit).showSignIn, post: (*visit).signOut, text: pageOf("signin")},
	}
}
