"""The functions of torch.nn.functional, by its names and with its arguments in its order: for porting a model.

    import strata.nn.functional as F
    y = F.max_pool2d(F.relu(F.conv2d(x, weight, bias, padding=1)), 2)

Names, arguments and defaults are torch's. `inplace=True`, and names that end in _, store the result in `input`, whose
views keep their value. size_average and reduce stand for reduction, as in torch. Where shapes must agree a ShapeError
says so: losses do not broadcast. strata.functional, strata.nn and the methods of tensors have most of it for any number
of axes.
"""

from ... import _checks
from ._activations import *  # noqa: F403
from ._attention import *  # noqa: F403
from ._classes import *  # noqa: F403
from ._convolutions import *  # noqa: F403
from ._distances import *  # noqa: F403
from ._dropouts import *  # noqa: F403
from ._images import *  # noqa: F403
from ._losses import *  # noqa: F403
from ._norms import *  # noqa: F403
from ._pools import *  # noqa: F403
from ._products import *  # noqa: F403
from ._resize import *  # noqa: F403
from ._rows import *  # noqa: F403

_checks.check_all(globals(), f"{__name__}.", is_total=True)
