#!/usr/bin/env bash
# The program and its options.
exec "$@"
