PYTHON ?= python3
BIN := .venv/bin
PORT_HINT := 3591

.PHONY: up test check bench proto gpu-check clean

proto: .venv/.test
	$(BIN)/python -m grpc_tools.protoc -I proto --python_out=proto --mypy_out=proto --grpc_python_out=proto \
	  --mypy_grpc_out=proto proto/flyball_proto/v1/*.proto
