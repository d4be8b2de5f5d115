/// Measures collectives, several variants interleaved within one launch: see options.hpp for how it
/// is called and docs/benchmarks.md for what it writes.
#include "lab_control.hpp"
#include "operation.hpp"
#include "options.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <iostream>
#include <memory>
#include <mpi.h>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <time.h>
#include <vector>

namespace thalweg::bench {
namespace {

using Nanoseconds = std::int64_t;
constexpr int most_attempts = 6; ///< to get all ranks to one starting time

/// All ranks of a lab share this clock.
Nanoseconds now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return Nanoseconds{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void sleep_until(Nanoseconds when) {
  const timespec time{when / 1'000'000'000, when % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) != 0) {
  }
}

/// Nanoseconds that this process was runnable but waited for a core.
Nanoseconds run_queue_delay() {
  std::ifstream file("/proc/self/schedstat");
  Nanoseconds running = 0, waiting = 0;
  file >> running >> waiting;
  return waiting;
}

/// Seconds that the hypervisor took from this machine's cores.
double steal() {
  std::ifstream file("/proc/stat");
  std::string cpu;
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
  file >> cpu >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
  return steal / 100;
}

/// Turns the preloaded runtime to a variant; without a runtime everything is native.
class Force {
public:
  Force() : _force(reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_DEFAULT, "thalweg_force"))) {}
  [[nodiscard]] bool has_runtime() const { return _force != nullptr; }
  void native() const { set("native"); }
  void set(const std::string& spec) const {
    if (_force == nullptr && spec != "native")
      throw std::invalid_argument("the runtime isn't preloaded; run under thalweg run, or measure "
                                  "only native variants");
    if (_force != nullptr && _force(spec.c_str()) != 0)
      throw std::invalid_argument("the runtime doesn't accept \"" + spec + "\"");
  }

private:
  int (*_force)(const char*);
};

/// What one rank saw of one repetition.
struct View {
  Nanoseconds entry = 0, exit = 0, waited = 0;
  std::int64_t correct = 0;
};
constexpr int view_fields = 4;
static_assert(sizeof(View) == view_fields * sizeof(std::int64_t));

/// One repetition; complete on rank 0 only.
struct Sample {
  Nanoseconds start = 0;
  std::vector<View> views;
  double steal = 0;
  std::string begin = "null", end = "null"; ///< the switch's counters
};

/// Lets all ranks enter a collective at one time, and gathers what they saw.
class Stopwatch {
public:
  /// @param calls in a row, that are measured together
  Stopwatch(int rank, int ranks, int calls, const Force& force)
      : _rank(rank), _ranks(static_cast<std::size_t>(ranks)), _calls(calls), _force(force) {
    if (rank == 0) _control = std::make_unique<LabControl>();
    estimate_margin();
  }

  /// Runs `operation` under `spec`. Collective.
  Sample measure(TimedCollective& operation, const std::string& spec, std::uint64_t repetition) {
    for (int attempt = 1;; ++attempt) {
      operation.fill(repetition);
      Sample sample = attempt_once(operation, spec, repetition);
      if (agree_on_time(sample) || attempt == most_attempts) return sample;
      _margin *= 2;
    }
  }

private:
  /// Twice what a native barrier and broadcast take: time enough for the news of the start to
  /// arrive.
  void estimate_margin() {
    Nanoseconds slowest = 0;
    for (int i = 0; i < 4; ++i) {
      const Nanoseconds begin = now();
      MPI_Barrier(MPI_COMM_WORLD);
      if (i > 0) slowest = std::max(slowest, now() - begin); // the first one connects
    }
    _margin = std::max<Nanoseconds>(5'000'000, 2 * slowest);
  }

  Sample attempt_once(TimedCollective& operation, const std::string& spec,
                      std::uint64_t repetition) {
    Sample sample;
    MPI_Barrier(MPI_COMM_WORLD);
    if (_rank == 0) {
      sample.begin = _control->counters();
      sample.steal = -steal();
      sample.start = now() + _margin;
    }
    MPI_Bcast(&sample.start, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    const bool late = now() >= sample.start;
    _force.set(spec);
    const Nanoseconds waited = run_queue_delay();
    sleep_until(sample.start);
    View view;
    view.entry = now();
    for (int call = 0; call < _calls; ++call)
      operation.run();
    view.exit = now();
    view.waited = run_queue_delay() - waited;
    _force.native();
    MPI_Barrier(MPI_COMM_WORLD); // checking must not take the core from ranks that are still inside
    view.correct = operation.correct(repetition) ? 1 : 0;
    if (late) view.entry = -view.entry;
    gather(view, sample);
    if (_rank == 0) {
      sample.steal += steal();
      sample.end = _control->counters();
    }
    return sample;
  }

  void gather(const View& view, Sample& sample) const {
    if (_rank == 0) sample.views.resize(_ranks);
    MPI_Gather(&view, view_fields, MPI_INT64_T, sample.views.data(), view_fields, MPI_INT64_T, 0,
               MPI_COMM_WORLD);
  }

  /// Whether no rank heard of the start too late (marked by a negative entry). Collective.
  static bool agree_on_time(Sample& sample) {
    std::int64_t on_time = 1;
    for (auto& view : sample.views)
      if (view.entry < 0) {
        view.entry = -view.entry;
        on_time = 0;
      }
    MPI_Bcast(&on_time, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    return on_time != 0;
  }

  int _rank;
  std::size_t _ranks;
  int _calls;
  const Force& _force;
  Nanoseconds _margin = 0;
  std::unique_ptr<LabControl> _control;
};

/// Whether all ranks found the result to be right; a barrier's is that none left it before all had
/// entered.
bool is_correct(const Cell& cell, const Sample& sample) {
  const auto last_entry = std::ranges::max(sample.views, {}, &View::entry).entry;
  return std::ranges::all_of(sample.views, [&](const View& view) {
    return view.correct != 0 && (cell.collective != "barrier" || view.exit >= last_entry);
  });
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + '"';
}

/// Writes the lines; times in seconds, un-dilated.
class Writer {
public:
  Writer(const std::string& path, double dilation, int calls) : _dilation(dilation), _calls(calls) {
    if (path.empty()) return;
    _file.open(path);
    if (!_file) throw std::runtime_error("can't write " + path);
  }

  void run(int ranks, bool runtime, const ProgramOptions& options) {
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(library, &length);
    out() << R"({"type":"run","library":)"
          << quoted(std::string(library, std::strcspn(library, "\n,"))) << R"(,"ranks":)" << ranks
          << R"(,"runtime":)" << (runtime ? "true" : "false") << R"(,"dilation":)" << _dilation
          << R"(,"seed":)" << options.seed << R"(,"repetitions":)" << options.repetitions << "}"
          << std::endl;
  }

  void sample(const Cell& cell, int repetition, const Sample& sample) {
    Nanoseconds first_entry = sample.views.front().entry, last_entry = first_entry, last_exit = 0;
    Nanoseconds waited = 0;
    for (const auto& view : sample.views) {
      first_entry = std::min(first_entry, view.entry);
      last_entry = std::max(last_entry, view.entry);
      last_exit = std::max(last_exit, view.exit);
      waited = std::max(waited, view.waited);
    }
    // Where the root alone sends, the time runs from its entry.
    const auto root_entry = sample.views[static_cast<std::size_t>(cell.root)].entry;
    const bool root_sends = cell.collective == "bcast" || cell.collective == "scatter";
    const Nanoseconds begin = root_sends ? root_entry : last_entry;
    out() << R"({"type":"sample","collective":)" << quoted(cell.collective) << R"(,"size":)"
          << cell.size << R"(,"root":)" << cell.root << R"(,"variant":)" << quoted(cell.variant)
          << R"(,"repetition":)" << repetition << R"(,"calls":)" << _calls << R"(,"time":)"
          << seconds(last_exit - begin) / _calls << R"(,"entry_skew":)"
          << seconds(last_entry - first_entry) << R"(,"correct":)"
          << (is_correct(cell, sample) ? "true" : "false") << R"(,"start_ns":)" << sample.start
          << R"(,"run_queue_delay":)" << seconds(waited) << R"(,"steal":)" << sample.steal
          << R"(,"entries":)" << list(sample, &View::entry) << R"(,"exits":)"
          << list(sample, &View::exit) << R"(,"begin":)" << sample.begin << R"(,"end":)"
          << sample.end << "}" << std::endl;
  }

private:
  std::ostream& out() { return _file.is_open() ? static_cast<std::ostream&>(_file) : std::cout; }
  [[nodiscard]] double seconds(Nanoseconds time) const {
    return static_cast<double>(time) * 1e-9 / _dilation;
  }
  [[nodiscard]] std::string list(const Sample& sample, Nanoseconds View::*member) const {
    std::ostringstream text;
    for (const auto& view : sample.views)
      text << (text.tellp() == 0 ? "[" : ",") << seconds(view.*member - sample.start);
    return text.str() + "]";
  }

  double _dilation;
  int _calls;
  std::ofstream _file;
};

/// 0 to count - 1 in an order drawn from `random`, the same on all ranks. std::shuffle isn't
/// specified to that extent.
std::vector<std::size_t> shuffled(std::size_t count, std::mt19937_64& random) {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t j = random() % (i + 1);
    order[i] = order[j];
    order[j] = i;
  }
  return order;
}

int measure(int argc, char** argv, int rank, int ranks) {
  const ProgramOptions options = parse(argc, argv, ranks);
  const Force force;
  force.native();
  Stopwatch stopwatch(rank, ranks, options.calls, force);
  std::unique_ptr<Writer> writer;
  if (rank == 0) {
    writer = std::make_unique<Writer>(options.output, options.dilation, options.calls);
    writer->run(ranks, force.has_runtime(), options);
  }
  const auto& cells = options.cells;
  std::mt19937_64 random(options.seed);
  bool correct = true;
  for (int repetition = -options.warm_ups; repetition < options.repetitions; ++repetition)
    for (const std::size_t i : shuffled(cells.size(), random)) {
      const Cell& cell = cells[i];
      const auto operation = make_operation(cell.collective, cell.size, cell.root);
      const Sample sample = stopwatch.measure(
          *operation, cell.force(), static_cast<std::uint64_t>(repetition + options.warm_ups));
      if (rank != 0) continue;
      writer->sample(cell, repetition, sample);
      correct = correct && is_correct(cell, sample);
    }
  return correct ? 0 : 1;
}

} // namespace
} // namespace thalweg::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int status = 0;
  try {
    status = thalweg::bench::measure(argc, argv, rank, ranks);
  } catch (const std::invalid_argument& error) { // alike on all ranks
    if (rank == 0) std::cerr << "thalweg-bench: " << error.what() << "\n" << thalweg::bench::usage;
    status = 2;
  } catch (const std::exception& error) {
    std::cerr << "thalweg-bench: " << error.what() << "\n";
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return status;
}
