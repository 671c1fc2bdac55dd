//! A compiled model on a device, with arrays of the model's own extents.

use super::compile::Compiled;
use super::network::Array;
use crate::container::{Axes, Surface};
use crate::device::Device;
use crate::session::{Error, Session};
use crate::tensor::{Tensor, nearest_half};

/// Runs a model once; inputs and outputs are in its own order.
///
/// # Errors
///
/// [`Error`], as loading and running have it; [`Error::Unknown`] for an input without an array.
pub fn execute(device: &Device, compiled: &Compiled, inputs: &[Array]) -> Result<Vec<Array>, Error> {
    let model = compiled.model();
    let mut session = Session::load(device, &model)?;
    let surfaces: Vec<Axes<u32>> = session.inputs().map(|surface: &Surface<'_>| surface.shape).collect();
    for (index, port) in compiled.inputs.iter().enumerate() {
        let missing =
            || Error::Unknown { direction: crate::container::Direction::Input, asked: port.name.clone() };
        let (array, &shape) =
            (inputs.get(index).ok_or_else(missing)?, surfaces.get(index).ok_or_else(missing)?);
        let values = array.values().iter().map(|&value| nearest_half(value)).collect();
        let tensor = Tensor::new(shape, values).map_err(|_| missing())?;
        session.set(&port.name, &tensor)?;
    }
    session.run()?;
    let output = |port: &super::compile::Port| {
        let tensor = session.get(&port.name)?;
        let values = tensor.values().iter().map(|value| value.to_f64()).collect();
        let missing =
            |_| Error::Unknown { direction: crate::container::Direction::Output, asked: port.name.clone() };
        Array::new(port.dims.clone(), values).map_err(missing)
    };
    compiled.outputs.iter().map(output).collect()
}
