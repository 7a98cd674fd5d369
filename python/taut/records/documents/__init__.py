"""The JSON documents taut writes and reads, each a frozen dataclass; units stand in field names.

Inside, documents are these values; `json_form.py` reads and writes their JSON at the edge. One file
a document: a key is renamed there or nowhere.
"""
