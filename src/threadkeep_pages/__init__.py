"""A ring: what people see in a browser. The page, a conversation as a file of HTML, and what a share link shows."""
