"""Where the files of this package are.

SPDX-License-Identifier: Apache-2.0"""

import os

FOLDER = os.path.dirname(os.path.abspath(__file__))
COMMAND = os.path.join(FOLDER, 'bin', 'tessera')
CORE = os.path.join(FOLDER, 'lib', 'libtessera-core.so.0')
PRELOADED = os.path.join(FOLDER, 'lib', 'libtessera.so')
