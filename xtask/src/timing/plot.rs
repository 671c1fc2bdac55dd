//! `docs/timing.svg`: two plots, the sweep across the pool's bound and the published convolutions.

use std::fmt::Write as _;

use anyhow::Result;

use super::experiment::{Curve, sweep_rate};

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 55.0;
const TOP: f64 = 40.0;

/// A plot's frame: data to pixels.
struct Frame {
    x: (f64, f64),
    y: (f64, f64),
    at: f64,
}

impl Frame {
    fn px(&self, x: f64) -> f64 {
        self.at + LEFT + (x - self.x.0) / (self.x.1 - self.x.0) * WIDTH
    }

    fn py(&self, y: f64) -> f64 {
        TOP + HEIGHT - (y - self.y.0) / (self.y.1 - self.y.0) * HEIGHT
    }

    /// The frame, and a line across it for each tick: its label, and where it is.
    fn axes(&self, svg: &mut String, title: &str, ticks: &[(f64, f64)]) -> std::fmt::Result {
        let left = self.at + LEFT;
        writeln!(
            svg,
            "<rect x=\"{left:.1}\" y=\"{TOP}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" stroke=\"#888\"/>"
        )?;
        writeln!(svg, "<text x=\"{left:.1}\" y=\"26\" font-size=\"13\">{title}</text>")?;
        for &(label, y) in ticks {
            let y = self.py(y);
            writeln!(
                svg,
                "<line x1=\"{left:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>",
                left + WIDTH
            )?;
            writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                left - 5.0,
                y + 4.0
            )?;
        }
        Ok(())
    }
}

fn draw_sweep(svg: &mut String, curve: &Curve) -> Result<()> {
    let frame = Frame { x: (1.2, 3.1), y: (500.0, 1500.0), at: 0.0 };
    let ticks = [600.0, 800.0, 1000.0, 1200.0, 1400.0].map(|rate| (rate, rate));
    frame.axes(svg, "Product by weight size: GFLOP/s over MB", &ticks)?;
    for tick in [1.25, 1.5, 2.0, 2.5, 3.0] {
        let x = frame.px(tick);
        writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{tick}</text>",
            TOP + HEIGHT + 16.0
        )?;
    }
    // The plateau was published as a band.
    let (x, right) = (frame.px(1.25), frame.px(2.25));
    let (top, bottom) = (frame.py(850.0), frame.py(700.0));
    writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#99000d\" opacity=\"0.15\"/>",
        right - x,
        bottom - top
    )?;
    // The points that were measured, and some where the line bends.
    let mut model: Vec<_> = curve.points.iter().map(|point| (point.x, point.model)).collect();
    for megabytes in [2.295, 2.305, 2.9] {
        model.push((megabytes, sweep_rate(megabytes)?));
    }
    model.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut line = String::new();
    for (megabytes, rate) in model {
        write!(line, "{:.1},{:.1} ", frame.px(megabytes), frame.py(rate))?;
    }
    writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#08519c\" stroke-width=\"1.5\"/>",
        line.trim_end()
    )?;
    for point in curve.points.iter().filter(|point| point.measured.0 == point.measured.1) {
        let (x, y) = (frame.px(point.x), frame.py(point.measured.0));
        writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"#99000d\"/>")?;
    }
    Ok(())
}

fn draw_convolutions(svg: &mut String, curve: &Curve) -> Result<()> {
    // Logarithms of microseconds.
    let frame = Frame { x: (-0.7, 7.7), y: (200.0_f64.ln(), 5000.0_f64.ln()), at: WIDTH + LEFT + 40.0 };
    let ticks = [250.0_f64, 500.0, 1000.0, 2000.0, 4000.0].map(|time| (time, time.ln()));
    frame.axes(svg, "Published convolutions: microseconds, logarithmic", &ticks)?;
    for point in &curve.points {
        let (x, model) = (frame.px(point.x), frame.py(point.model.ln()));
        let measured = frame.py(((point.measured.0 + point.measured.1) / 2.0).ln());
        writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{measured:.1}\" r=\"4\" fill=\"#99000d\"/>")?;
        writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"8\" height=\"8\" fill=\"none\" stroke=\"#08519c\" stroke-width=\"1.5\"/>",
            x - 4.0,
            model - 4.0
        )?;
        let label: String = point.what.replace(" channels", "").replace(" to ", "-");
        writeln!(
            svg,
            "<text transform=\"translate({:.1},{:.1}) rotate(30)\" font-size=\"9\">{label}</text>",
            x - 6.0,
            TOP + HEIGHT + 12.0
        )?;
    }
    Ok(())
}

pub(super) fn render(sweep: &Curve, convolutions: &Curve) -> Result<String> {
    let (width, height) = (2.0 * (WIDTH + LEFT) + 130.0, TOP + HEIGHT + 90.0);
    let mut svg = String::new();
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"11\">"
    )?;
    writeln!(svg, "<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>")?;
    writeln!(
        svg,
        "<circle cx=\"60\" cy=\"9\" r=\"4\" fill=\"#99000d\"/><text x=\"70\" y=\"13\">measured</text>"
    )?;
    writeln!(
        svg,
        "<line x1=\"135\" x2=\"155\" y1=\"9\" y2=\"9\" stroke=\"#08519c\" stroke-width=\"1.5\"/><text x=\"160\" y=\"13\">model</text>"
    )?;
    draw_sweep(&mut svg, sweep)?;
    draw_convolutions(&mut svg, convolutions)?;
    writeln!(svg, "</svg>")?;
    Ok(svg)
}
