# SPDX-License-Identifier: Apache-2.0
"""A short NumPy twin of every kernel: the specification that the C++ is compared with."""
