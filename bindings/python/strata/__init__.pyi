"""Strata: lazy tensors for AMD GPUs, from tensor expressions down to machine instructions, with an emulated GPU built in."""

from . import asm as asm
from . import dtypes as dtypes
from . import emulator as emulator
from . import nn as nn
from . import uop as uop
from ._strata import Artifact as Artifact
from ._strata import AssemblyError as AssemblyError
from ._strata import CompileError as CompileError
from ._strata import CustomKernel as CustomKernel
from ._strata import DeviceError as DeviceError
from ._strata import DType as DType
from ._strata import DTypeError as DTypeError
from ._strata import Error as Error
from ._strata import InternalError as InternalError
from ._strata import LaunchError as LaunchError
from ._strata import MemoryFault as MemoryFault
from ._strata import ShapeError as ShapeError
from ._strata import Stats as Stats
from ._strata import Tensor as Tensor
from ._strata import Unsupported as Unsupported
from ._strata import UsageError as UsageError
from ._strata import broadcast_shapes as broadcast_shapes
from ._strata import cat as cat
from ._strata import config as config
from ._strata import default_device as default_device
from ._strata import device_properties as device_properties
from ._strata import devices as devices
from ._strata import hip_kernel as hip_kernel
from ._strata import manual_seed as manual_seed
from ._strata import promote as promote
from ._strata import realize as realize
from ._strata import reset_stats as reset_stats
from ._strata import result_type as result_type
from ._strata import settings as settings
from ._strata import stack as stack
from ._strata import stats as stats
from ._strata import where as where
from .kernels import asm_kernel as asm_kernel
from .kernels import compile as compile

__version__: str
