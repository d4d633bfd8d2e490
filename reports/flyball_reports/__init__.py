"""What planner and audit both write: sections, tables, charts and pages; and how they read specifications."""
