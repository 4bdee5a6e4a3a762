"""Files made into what a model can use: the text of documents, images of a sane size. In a process with limits."""
