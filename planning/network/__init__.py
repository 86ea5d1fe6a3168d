"""Who may reach whom: the flows that are known, and the policies that let nothing else through."""
