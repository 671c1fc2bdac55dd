"""A compiled program against its reference, on a virtual Neural Engine.

`ANE_PROGRAM` names the program (.hwx or .anec), `ANE_REFERENCE` an .npz with an array for each input and each output, by the
names that `ane info PROGRAM` prints: recorded on a Mac once, or computed in double precision.
"""

import os

import ane
import numpy
import pytest


@pytest.mark.ane_chip("t8103", "t6000")
@pytest.mark.ane_options(check=True)
def test_program_gives_its_reference(ane_device: ane.Device) -> None:
    program = ane_device.load(os.environ["ANE_PROGRAM"])
    with numpy.load(os.environ["ANE_REFERENCE"]) as reference:
        inputs = {surface.name: reference[surface.name].astype(numpy.float16) for surface in program.inputs}
        outputs = program.run(inputs)
        for name, found in outputs.items():
            wanted = reference[name].astype(float).reshape(found.shape)
            numpy.testing.assert_allclose(found.astype(float), wanted, rtol=2e-3, atol=1e-3, err_msg=name)
