-- min_compatible: 1

-- Who wrote an authored tool as it is now: agent or person. Empty for builtins, those of MCP servers, and tools that are older than this.
ALTER TABLE tool_documents ADD COLUMN author TEXT NOT NULL DEFAULT '';
