"""Generated from the .proto files beside; `make proto` makes it anew."""
