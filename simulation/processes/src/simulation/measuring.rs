//! What the processes of a simulation measure.

use paceline_network::Network;
use paceline_results::{Output, Outputs};

use super::{Settings, Simulation};
use crate::report::RunError;

impl<P: Send + 'static, N: Network> Simulation<P, N> {
    /// Lets processes measure these, by name ([`Process::tally`](crate::Process::tally), `level`, `count`,
    /// `series`); the report has what came of it.
    ///
    /// ```
    /// use paceline_kernel::Time;
    /// use paceline_network::{Constant, HostId};
    /// use paceline_processes::{Process, Simulation};
    /// use paceline_results::Output;
    ///
    /// let mut simulation = Simulation::new(Constant::new(0.0), &[(1e9, 1)]);
    /// simulation.measure([
    ///     Output::tally("stay_s").quantile(0.9),       // values: mean_stay_s, p90_stay_s
    ///     Output::level("guests").steady(),            // up and down: mean_guests, half_width_guests
    ///     Output::count("left"),                       // how often: left
    ///     Output::series("arrivals", Time::secs(3600)), // arrivals.csv, a row an hour
    /// ]);
    /// for guest in 0..4 {
    ///     simulation.spawn("guest", HostId(0), async move |cx: Process<()>| {
    ///         cx.series("arrivals", 1.0);
    ///         let _here = cx.raise("guests", 1.0); // until it is dropped, or the process ends
    ///         cx.sleep(Time::secs(guest)).await;
    ///         cx.tally("stay_s", cx.now().as_secs_f64());
    ///         cx.count("left", 1);
    ///     });
    /// }
    /// let outputs = simulation.run()?.outputs;
    /// assert_eq!((outputs.mean("stay_s"), outputs.mean("guests")), (Some(1.5), Some(2.0)));
    /// # Ok::<(), paceline_processes::RunError>(())
    /// ```
    pub fn measure(&mut self, outputs: impl IntoIterator<Item = Output>) {
        for output in outputs {
            let name = output.name();
            if self.settings.outputs.iter().any(|other| other.name() == name) {
                self.failed.get_or_insert(RunError::MeasuredTwice { name });
            }
            self.settings.outputs.push(output);
        }
    }
}

impl Settings {
    /// What processes measure, before they do.
    pub(crate) fn outputs(&self) -> Outputs {
        Outputs::new(self.outputs.clone(), self.measure_from)
    }
}
