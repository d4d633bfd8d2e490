"""From a row's words to what the planner asks for: a subject, a training, a layout, a device."""
