"""Names for the arrays that the stages pass around; the number is the width of an element in bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints32 = NDArray[np.int32]
Ints64 = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
