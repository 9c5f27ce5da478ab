"""Element types: bool, int8-int64, uint8-uint64, float16, bfloat16, float32, float64 and the fp8 formats."""

from ._strata import DType

bool: DType
boolean: DType
int8: DType
int16: DType
int32: DType
int64: DType
uint8: DType
uint16: DType
uint32: DType
uint64: DType
float16: DType
bfloat16: DType
float32: DType
float64: DType
fp8e4m3: DType
"""OCP e4m3: no infinity, largest 448."""
fp8e5m2: DType
"""OCP e5m2: has infinity, largest 57344."""
fp8e4m3fnuz: DType
"""e4m3 of CDNA3: no infinity, one NaN, no negative zero, largest 240."""
fp8e5m2fnuz: DType
"""e5m2 of CDNA3: no infinity, one NaN, no negative zero, largest 57344."""
index: DType
"""Of ranges and offsets in a kernel: int32 or int64, chosen when it is lowered."""
all: list[DType]
"""Every type that a tensor can have."""
