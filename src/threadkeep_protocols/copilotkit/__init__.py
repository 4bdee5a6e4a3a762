"""CopilotKit's runtime as its front end asks for it, without a Node beside it: runs of AG-UI, and lists of threads."""
