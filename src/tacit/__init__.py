# SPDX-License-Identifier: Apache-2.0
"""Recommenders whose item factors do not give away any one user."""
