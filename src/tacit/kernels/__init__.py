# SPDX-License-Identifier: Apache-2.0
"""Picks the compiled kernels, or their NumPy twins where the extension is absent.

TACIT_KERNELS=reference in the environment picks the twins on purpose (slow; for tests).
"""
