# SPDX-License-Identifier: Apache-2.0
"""Attacks on our own guarantee: what the best attacker measures against what is claimed."""
