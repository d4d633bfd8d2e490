"""The accuracy of predictions, judged by tables of measured runs."""
