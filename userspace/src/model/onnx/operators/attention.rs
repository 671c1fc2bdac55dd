//! Attention, and the rotation of queries and keys by their places: what opset 23 and later have as one operator.

use super::{Call, Made, one};
use crate::model::layers::Layers;
use crate::model::network::operation::{Cut, JoinKind, Map};
use crate::model::network::{Array, Kind, Operation, ValueId};
use crate::model::problem::Why;

pub(super) fn call(call: &mut Call<'_, '_>) -> Made {
    match call.node.operator.as_str() {
        "Attention" => attention(call),
        "RotaryEmbedding" => rotated(call),
        _ => Ok(None),
    }
}

/// `[batches, heads, places, width]` of an operand, which may have its heads side by side in its last axis.
fn heads(call: &mut Call<'_, '_>, x: ValueId, count: i64) -> Result<ValueId, Why> {
    let dims = call.dims(x);
    match *dims.as_slice() {
        [_, _, _, _] => Ok(x),
        [batches, places, all] => {
            let heads = usize::try_from(count).ok().filter(|&heads| heads > 0 && all % heads == 0);
            let heads =
                heads.ok_or_else(|| Call::mode(format!("{count} heads do not divide {all} columns")))?;
            let apart = call.reshape(x, vec![batches, places, heads, all / heads])?;
            call.add(Operation::Permute(vec![0, 2, 1, 3]), &[apart])
        }
        _ => Err(Call::mode(format!("an operand of {dims:?} has no heads"))),
    }
}

/// The heads side by side again.
fn flat(call: &mut Call<'_, '_>, x: ValueId) -> Result<ValueId, Why> {
    let dims = call.dims(x);
    let turned = call.add(Operation::Permute(vec![0, 2, 1, 3]), &[x])?;
    call.reshape(turned, vec![dims[0], dims[2], dims[1] * dims[3]])
}

fn attention(call: &mut Call<'_, '_>) -> Made {
    let is_flat = call.dims(call.x(0)?).len() == 3;
    let (query_heads, key_heads) = (call.integer("q_num_heads", 0)?, call.integer("kv_num_heads", 0)?);
    // Softmax is in halves whatever a model asks for.
    call.integer("softmax_precision", 0)?;
    let [query, key, value] = [call.x(0)?, call.x(1)?, call.x(2)?];
    let query = heads(call, query, query_heads)?;
    let (mut key, mut value) = (heads(call, key, key_heads)?, heads(call, value, key_heads)?);
    let mut before = 0;
    match (call.optional(4), call.optional(5)) {
        (None, None) => {}
        (Some(past_key), Some(past_value)) if call.optional(6).is_none() => {
            before = call.dims(past_key).get(2).copied().unwrap_or_default();
            key = call.add(Operation::Concat(2), &[past_key, key])?;
            value = call.add(Operation::Concat(2), &[past_value, value])?;
        }
        _ => return Err(Call::mode("past keys and past values come together, and without nonpad_kv_seqlen")),
    }
    let (of_query, of_key, of_value) = (call.dims(query), call.dims(key), call.dims(value));
    let (&[batches, all, queries, width], &[_, groups, keys, _]) = (of_query.as_slice(), of_key.as_slice())
    else {
        return Err(Call::mode("queries and keys have no heads"));
    };
    if groups == 0 || all % groups != 0 || of_value.len() != 4 {
        return Err(Call::mode(format!("{groups} heads of keys do not divide {all} of queries")));
    }

    let scale = call.optional_single("scale")?.map(f64::from).filter(|&scale| scale != 0.0);
    let scale = scale.unwrap_or_else(|| (width as f64).sqrt().recip());
    let query = call.affine(query, scale, 0.0)?;
    // Heads of queries that share keys lie side by side, so their rows are those of one matrix.
    let together = call.reshape(query, vec![batches, groups, all / groups * queries, width])?;
    let turned = call.compose().turned(key)?;
    let product = call.add(Operation::Product, &[together, turned])?;
    let raw = call.reshape(product, vec![batches, all, queries, keys])?;
    let cap = call.single("softcap", 0.0)?;
    let capped = if cap == 0.0 {
        raw
    } else {
        let part = call.affine(raw, cap.recip(), 0.0)?;
        let bent = call.map(Map::Tanh, part)?;
        call.affine(bent, cap, 0.0)?
    };
    let Seen { ones, addend, may_be_none } = seen(call, before, [queries, keys])?;
    let mut biased = addend.map_or(Ok(capped), |addend| call.join(JoinKind::Add, capped, addend))?;
    if let Some(ones) = ones {
        biased = call.compose().seen(biased, ones)?;
    }
    let mut weights = call.compose().softmax(biased, 3)?;
    if let Some(ones) = ones.filter(|_| may_be_none) {
        // A query that sees no key has zeros, where softmax has the same for all.
        weights = call.join(JoinKind::Multiply, weights, ones)?;
    }
    let together = call.reshape(weights, vec![batches, groups, all / groups * queries, keys])?;
    let mixed = call.add(Operation::Product, &[together, value])?;
    let y = call.reshape(mixed, vec![batches, all, queries, of_value[3]])?;
    let y = if is_flat { flat(call, y)? } else { y };
    let told = match call.integer("qk_matmul_output_mode", 0)? {
        0 => raw,
        1 => capped,
        2 if call.outputs > 3 && ones.is_some() => {
            return Err(Call::mode("scores of keys that are not seen would be infinite, and are not here"));
        }
        2 => biased,
        3 => weights,
        other => return Err(Call::mode(format!("qk_matmul_output_mode {other} is not mapped"))),
    };
    let mut made = vec![y, key, value, told];
    made.truncate(call.outputs.max(1));
    Ok(Some(made))
}

/// Which keys a query sees.
struct Seen {
    /// One for a key that is seen, zero for another; none if all are seen.
    ones: Option<ValueId>,
    /// The values that are added to scores.
    addend: Option<ValueId>,
    /// A query may see none.
    may_be_none: bool,
}

/// By its mask, and by where queries and keys are. `before` keys lie before those of the first query.
fn seen(call: &mut Call<'_, '_>, before: usize, [queries, keys]: [usize; 2]) -> Result<Seen, Why> {
    let by_place = seen_by_place(call, before, [queries, keys])?;
    let is_none = |row: &[f64]| row.iter().all(|&one| one == 0.0);
    let may_be_none = by_place.as_ref().is_some_and(|seen| seen.values().chunks(keys.max(1)).any(is_none));
    let ones = by_place.map(|seen| call.constant(seen, Kind::Real));
    let Some(mask) = call.optional(3) else { return Ok(Seen { ones, addend: None, may_be_none }) };
    let dims = call.dims(mask);
    let is_truth = call.kind(mask) == Kind::Bool;
    let missing = keys.saturating_sub(dims.last().copied().unwrap_or_default());
    if missing == 0 && !is_truth {
        return Ok(Seen { ones, addend: Some(mask), may_be_none });
    }
    let map = if is_truth {
        Map::Step { below: 0.0, zero: 0.0, above: 1.0 }
    } else {
        Map::Step { below: 1.0, zero: 1.0, above: 1.0 }
    };
    let mut allowed = call.add_as(Operation::Map(map), &[mask], Kind::Real)?;
    let mut addend = (!is_truth).then_some(mask);
    if missing != 0 {
        // Keys behind the end of a mask are not seen.
        let mut sides = vec![(0, 0); dims.len()];
        if let Some(last) = sides.last_mut() {
            *last = (0, missing);
        }
        let pad = Operation::Pad { sides, value: 0.0 };
        allowed = call.add(pad.clone(), &[allowed])?;
        addend = addend.map(|mask| call.add(pad, &[mask])).transpose()?;
    }
    let ones = ones.map_or(Ok(allowed), |ones| call.join(JoinKind::Multiply, ones, allowed))?;
    Ok(Seen { ones: Some(ones), addend, may_be_none: true })
}

/// Ones and zeros of `[batches or 1, 1, queries, keys]`; `None` if every query sees every key.
fn seen_by_place(
    call: &mut Call<'_, '_>,
    before: usize,
    [queries, keys]: [usize; 2],
) -> Result<Option<Array>, Why> {
    let is_causal = call.integer("is_causal", 0)? != 0;
    let bound = |name| Ok::<_, Why>(Some(call.integer(name, -1)?).filter(|&bound| bound >= 0));
    let (left, mut right) = (bound("left_window_size")?, bound("right_window_size")?);
    if is_causal {
        right = Some(0);
    }
    // Of each batch: the place of its first query, and how many keys there are.
    let batches: Vec<(i64, i64)> = match call.optional(6) {
        None if left.is_none() && right.is_none() => return Ok(None),
        None => vec![(before as i64, keys as i64)],
        Some(_) => {
            call.list(6)?.into_iter().map(|filled| (filled.saturating_sub(queries as i64), filled)).collect()
        }
    };
    let one = |at: usize| {
        let (first, filled) = batches[at / keys / queries];
        let (place, key) = (first.saturating_add((at / keys % queries) as i64), (at % keys) as i64);
        let is_seen = key < filled
            && left.is_none_or(|left| key >= place.saturating_sub(left))
            && right.is_none_or(|right| key <= place.saturating_add(right));
        f64::from(is_seen)
    };
    Ok(Some(Array::from_fn(vec![batches.len(), 1, queries, keys], one)?))
}

/// Pairs of columns are turned by an angle that depends on their place.
fn rotated(call: &mut Call<'_, '_>) -> Made {
    let x = call.x(0)?;
    let is_flat = call.dims(x).len() == 3;
    let count = call.integer("num_heads", 0)?;
    let x = heads(call, x, count)?;
    let (dims, is_interleaved) = (call.dims(x), call.integer("interleaved", 0)? != 0);
    let &[batches, all, places, width] = dims.as_slice() else {
        return Err(Call::mode("there are no heads"));
    };
    let turned = match call.integer("rotary_embedding_dim", 0)? {
        0 => width,
        turned => usize::try_from(turned).unwrap_or(usize::MAX),
    };
    if turned < 2 || turned % 2 != 0 || turned > width {
        return Err(Call::mode(format!("{turned} columns of {width} are no pairs")));
    }
    let half = turned / 2;
    let (next, step) = if is_interleaved { (1, 2) } else { (half, 1) };
    let left = call.cut(x, 3, Cut { start: 0, step, count: half })?;
    let right = call.cut(x, 3, Cut { start: next, step, count: half })?;
    let cosine = angles(call, 1, [batches, places, half])?;
    let sine = angles(call, 2, [batches, places, half])?;
    let mut product = |a, b| call.join(JoinKind::Multiply, a, b);
    let (a, b, c, d) =
        (product(left, cosine)?, product(right, sine)?, product(left, sine)?, product(right, cosine)?);
    let (real, imaginary) = (call.join(JoinKind::Subtract, a, b)?, call.join(JoinKind::Add, c, d)?);
    let mut made = if is_interleaved {
        let apart = vec![batches, all, places, half, 1];
        let (real, imaginary) = (call.reshape(real, apart.clone())?, call.reshape(imaginary, apart)?);
        let pairs = call.add(Operation::Concat(4), &[real, imaginary])?;
        call.reshape(pairs, vec![batches, all, places, turned])?
    } else {
        call.add(Operation::Concat(3), &[real, imaginary])?
    };
    if turned < width {
        let rest = call.cut(x, 3, Cut { start: turned, step: 1, count: width - turned })?;
        made = call.add(Operation::Concat(3), &[made, rest])?;
    }
    one(if is_flat { flat(call, made)? } else { made })
}

/// Cosines or sines of every place, as they are or as the places choose them out of a list.
fn angles(
    call: &mut Call<'_, '_>,
    operand: usize,
    [batches, places, half]: [usize; 3],
) -> Result<ValueId, Why> {
    let mut angles = call.x(operand)?;
    let dims = call.dims(angles);
    if call.optional(3).is_some() {
        let indices = call.list(3)?;
        let is_inside = |index: &i64| usize::try_from(*index).is_ok_and(|index| index < dims[0]);
        if dims.len() != 2 || indices.len() != batches * places || !indices.iter().all(is_inside) {
            return Err(Call::mode(format!("{} places do not choose out of {dims:?}", indices.len())));
        }
        let indices = indices.into_iter().map(|index| index as usize).collect();
        angles = call.add(Operation::Take { axis: 0, indices }, &[angles])?;
    }
    call.reshape(angles, vec![batches, 1, places, half])
}
