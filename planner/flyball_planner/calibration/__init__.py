"""What measured runs teach: predictions that move to where measurements lie, as far as the measurements carry."""
