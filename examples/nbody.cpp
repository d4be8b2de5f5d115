/// N-body: the motion of stars under each other's gravity, in plain MPI. Nothing here knows of
/// Thalweg.
///
/// As in section 5.4 of Gong, He and Zhong, "Network performance aware MPI collective communication
/// operations in the cloud": bodies are spread over the ranks; in each step a rank computes the
/// forces on its own bodies from all bodies, and the all-gather of the moved bodies is done as a
/// gather followed by a broadcast. A body carries attributes besides its position, which set the
/// message size.
#include "example.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

namespace {

struct Vector {
  double x = 0, y = 0, z = 0;
};
Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
Vector operator*(double s, Vector a) { return {s * a.x, s * a.y, s * a.z}; }
double square(Vector a) { return a.x * a.x + a.y * a.y + a.z * a.z; }

/// The part of a body that others need; its attributes follow it in the message.
struct Star {
  Vector position;
  double mass = 0;
};

struct Options {
  int bodies = 1024;
  int steps = 16;
  std::size_t message = 1'000'000; ///< bytes of all bodies together, in one broadcast
  double compute_time = 0;         ///< least seconds of a step's computation
  double dilation = example::lab_dilation();
  unsigned seed = 1;
  std::string json; ///< file for the results
};

constexpr const char* usage =
    "usage: nbody [--bodies 1024] [--steps 16] [--message 1000000] [--compute-time 0]\n"
    "             [--dilation 1] [--seed 1] [--json FILE]\n"
    "--message       bytes that one broadcast carries: all bodies with their attributes\n"
    "--compute-time  seconds that a step's computation takes at least: a rank that is ready "
    "sooner\n"
    "                sleeps, standing for more bodies than this machine could compute\n"
    "--dilation      of an emulated network's time (default THALWEG_LAB_DILATION): times are\n"
    "                printed divided by it, --compute-time is multiplied by it\n";

Options parse(int argc, char** argv) {
  Options options;
  const std::array<example::Option, 7> known{{{"--bodies", &options.bodies, 1},
                                              {"--steps", &options.steps, 1},
                                              {"--message", &options.message},
                                              {"--compute-time", &options.compute_time},
                                              {"--dilation", &options.dilation, 1},
                                              {"--seed", &options.seed},
                                              {"--json", &options.json}}};
  example::parse(argc, argv, known);
  if (options.message < static_cast<std::size_t>(options.bodies) * sizeof(Star))
    throw std::invalid_argument("--message must be at least " + std::to_string(sizeof(Star)) +
                                " bytes per body");
  return options;
}

/// Returns seconds of the system's clock, so that ranks can be compared where the hosts' clocks
/// agree (one machine; NTP).
double clock_time() {
  using namespace std::chrono;
  return duration<double>(system_clock::now().time_since_epoch()).count();
}

/// All bodies as messages contain them: records of equal size, each a Star and its attributes.
/// Every rank owns the same number, so the last ones may be padding without mass.
class Bodies {
public:
  Bodies(const Options& options, int ranks)
      : _own((options.bodies + ranks - 1) / ranks), _count(options.bodies),
        _record(options.message / static_cast<std::size_t>(options.bodies)),
        _data(static_cast<std::size_t>(_own * ranks) * _record) {}

  [[nodiscard]] int own() const { return _own; }
  [[nodiscard]] int count() const { return _count; }
  [[nodiscard]] int block() const {
    return static_cast<int>(static_cast<std::size_t>(_own) * _record);
  }
  [[nodiscard]] int size() const { return static_cast<int>(_data.size()); }
  std::byte* record(int body) { return _data.data() + static_cast<std::size_t>(body) * _record; }

  [[nodiscard]] Star star(int body) const {
    Star star;
    std::memcpy(&star, _data.data() + static_cast<std::size_t>(body) * _record, sizeof star);
    return star;
  }

  /// Writes a body; its attributes change with every step.
  void write(int body, const Star& star, int step) {
    std::memcpy(record(body), &star, sizeof star);
    std::memset(record(body) + sizeof star, attribute(body, step), _record - sizeof star);
  }

  /// Whether every body's attributes are those of `step`.
  [[nodiscard]] bool attributes_are_of(int step) {
    for (int body = 0; body < _count; ++body)
      for (std::size_t i = sizeof(Star); i < _record; ++i)
        if (record(body)[i] != static_cast<std::byte>(attribute(body, step))) return false;
    return true;
  }

  /// Returns a number that differs, most likely, where any body does: 64-bit FNV-1a.
  [[nodiscard]] std::uint64_t hash() const {
    std::uint64_t result = 0xcbf29ce484222325;
    for (const std::byte byte : _data)
      result = (result ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
    return result;
  }

private:
  static unsigned char attribute(int body, int step) {
    return static_cast<unsigned char>(body * 7 + step * 13 + 1);
  }

  int _own, _count;
  std::size_t _record;
  std::vector<std::byte> _data;
};

/// Makes a uniform ball of stars of total mass 1, at rest except for a little random motion.
void place_stars(Bodies& bodies, std::vector<Vector>& velocities, int first, unsigned seed) {
  std::mt19937 random(seed);
  const auto coordinate = [&] { return static_cast<double>(random()) / 2147483648.0 - 1.0; };
  for (int body = 0; body < bodies.count(); ++body) {
    Vector position;
    do
      position = {coordinate(), coordinate(), coordinate()};
    while (square(position) > 1);
    const Vector velocity = 0.1 * Vector{coordinate(), coordinate(), coordinate()};
    bodies.write(body, {position, 1.0 / bodies.count()}, 0);
    if (body >= first && body < first + bodies.own())
      velocities[static_cast<std::size_t>(body - first)] = velocity;
  }
}

constexpr double softening = 0.05; ///< keeps close encounters finite
constexpr double time_step = 0.001;

Vector acceleration(const std::vector<Star>& stars, Vector at) {
  Vector sum;
  for (const auto& star : stars) {
    const Vector d = star.position - at;
    const double r2 = square(d) + softening * softening;
    sum = sum + (star.mass / (r2 * std::sqrt(r2))) * d;
  }
  return sum;
}

/// Returns the potential at a star, without its own part.
double potential(const std::vector<Star>& stars, const Star& of) {
  double sum = of.mass / softening;
  for (const auto& star : stars)
    sum -= star.mass / std::sqrt(square(star.position - of.position) + softening * softening);
  return sum;
}

/// Seconds that this rank spent in a phase of all steps.
struct Times {
  double computation = 0, gather = 0, bcast = 0, total = 0;
};

/// When one step's collectives began and ended on this rank.
struct Marks {
  double gather_enter = 0, gather_exit = 0, bcast_enter = 0, bcast_exit = 0;
};

class Simulation {
public:
  explicit Simulation(const Options& options)
      : _options(options), _rank(example::rank_of_world()), _ranks(example::size_of_world()),
        _bodies(options, _ranks), _first(_rank * _bodies.own()),
        _velocities(static_cast<std::size_t>(_bodies.own())),
        _own_block(static_cast<std::size_t>(_bodies.block())) {
    place_stars(_bodies, _velocities, _first, options.seed);
    read_stars();
  }

  void run() {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = clock_time();
    for (int step = 1; step <= _options.steps; ++step) {
      compute(step);
      exchange();
    }
    _times.total = clock_time() - begin;
  }

  /// Returns the kinetic and potential energy of all bodies. Collective.
  [[nodiscard]] double energy() const {
    double own = 0, all = 0;
    for (int i = 0; i < own_stars(); ++i) {
      const Star& star = _stars[static_cast<std::size_t>(_first + i)];
      own += 0.5 * star.mass *
             (square(_velocities[static_cast<std::size_t>(i)]) + potential(_stars, star));
    }
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
  }

  /// Whether all ranks have the same bodies, with the attributes of the last step. Collective.
  [[nodiscard]] bool received_all() {
    // The minima of a number and of its negative tell whether all ranks have the same.
    const auto hash = static_cast<std::int64_t>(_bodies.hash() >> 2);
    const std::int64_t right = _bodies.attributes_are_of(_options.steps) ? 1 : 0;
    const std::array own{hash, -hash, right};
    std::array<std::int64_t, 3> all{};
    MPI_Allreduce(own.data(), all.data(), 3, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    return all[0] == -all[1] && all[2] == 1;
  }
  [[nodiscard]] const Times& times() const { return _times; }
  [[nodiscard]] const std::vector<Marks>& marks() const { return _marks; }
  [[nodiscard]] int ranks() const { return _ranks; }
  [[nodiscard]] int message() const { return _bodies.size(); }

private:
  [[nodiscard]] int own_stars() const {
    return std::clamp(_bodies.count() - _first, 0, _bodies.own());
  }

  void read_stars() {
    _stars.resize(static_cast<std::size_t>(_bodies.count()));
    for (int body = 0; body < _bodies.count(); ++body)
      _stars[static_cast<std::size_t>(body)] = _bodies.star(body);
  }

  /// Moves this rank's bodies by one time step (semi-implicit Euler, which keeps energy bounded).
  void compute(int step) {
    const double begin = clock_time();
    for (int i = 0; i < own_stars(); ++i) {
      Star star = _stars[static_cast<std::size_t>(_first + i)];
      Vector& velocity = _velocities[static_cast<std::size_t>(i)];
      velocity = velocity + time_step * acceleration(_stars, star.position);
      star.position = star.position + time_step * velocity;
      _bodies.write(_first + i, star, step);
    }
    const double left = _options.compute_time * _options.dilation - (clock_time() - begin);
    std::this_thread::sleep_for(std::chrono::duration<double>(left));
    _times.computation += clock_time() - begin;
  }

  /// Sends all bodies to all ranks.
  void exchange() {
    Marks marks;
    std::memcpy(_own_block.data(), _bodies.record(_first), _own_block.size());
    marks.gather_enter = clock_time();
    MPI_Gather(_own_block.data(), _bodies.block(), MPI_BYTE, _bodies.record(0), _bodies.block(),
               MPI_BYTE, 0, MPI_COMM_WORLD);
    marks.gather_exit = marks.bcast_enter = clock_time();
    MPI_Bcast(_bodies.record(0), _bodies.size(), MPI_BYTE, 0, MPI_COMM_WORLD);
    marks.bcast_exit = clock_time();
    _times.gather += marks.gather_exit - marks.gather_enter;
    _times.bcast += marks.bcast_exit - marks.bcast_enter;
    _marks.push_back(marks);
    read_stars();
  }

  Options _options;
  int _rank, _ranks;
  Bodies _bodies;
  int _first; ///< of this rank's bodies
  std::vector<Vector> _velocities;
  std::vector<std::byte> _own_block;
  std::vector<Star> _stars;
  Times _times;
  std::vector<Marks> _marks;
};

/// The time by phase, all ranks together; complete on rank 0 only.
struct Breakdown {
  double total = 0, computation = 0, gather = 0, bcast = 0;
  [[nodiscard]] double other() const { return total - computation - gather - bcast; }
};

double reduced(double value, MPI_Op operation) {
  double result = 0;
  MPI_Reduce(&value, &result, 1, MPI_DOUBLE, operation, 0, MPI_COMM_WORLD);
  return result;
}

/// A gather lasts from the last rank's entry to the root's exit, a broadcast from the root's entry
/// to the last exit: so waiting for a late rank isn't counted as communication. Collective.
Breakdown breakdown(const Simulation& simulation) {
  Breakdown sum;
  sum.total = reduced(simulation.times().total, MPI_MAX);
  sum.computation = reduced(simulation.times().computation, MPI_SUM) / simulation.ranks();
  for (const auto& step : simulation.marks()) {
    sum.gather += step.gather_exit - reduced(step.gather_enter, MPI_MAX);
    sum.bcast += reduced(step.bcast_exit, MPI_MAX) - step.bcast_enter;
  }
  return sum;
}

void print(const Breakdown& time, double initialisation, double drift, bool correct,
           const Simulation& simulation, const Options& options) {
  const double d = options.dilation;
  const auto line = [&](const char* name, double seconds) {
    example::print_part(name, seconds, time.total, options.dilation);
  };
  std::printf("N-body: %d bodies, %d steps, %d ranks, %d bytes per broadcast\n", options.bodies,
              options.steps, simulation.ranks(), simulation.message());
  line("total", time.total);
  line("computation", time.computation);
  line("gather", time.gather);
  line("bcast", time.bcast);
  line("other", time.other());
  std::printf("  MPI_Init took %.3f s; energy drifted by %.2g; data %s\n", initialisation / d,
              drift, correct ? "correct" : "WRONG");
}

void write_json(const Breakdown& time, double initialisation, double drift, bool correct,
                const Simulation& simulation, const Options& options) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(library, &length);
  std::string version(library, std::strcspn(library, "\n\","));
  std::replace(version.begin(), version.end(), '\t', ' ');
  const double d = options.dilation;
  std::ofstream file(options.json);
  file << "{\"library\": \"" << version << "\", \"ranks\": " << simulation.ranks()
       << ", \"bodies\": " << options.bodies << ", \"steps\": " << options.steps
       << ", \"message\": " << simulation.message() << ", \"dilation\": " << d
       << ", \"compute_time\": " << options.compute_time << ", \"total\": " << time.total / d
       << ", \"computation\": " << time.computation / d << ", \"gather\": " << time.gather / d
       << ", \"bcast\": " << time.bcast / d << ", \"other\": " << time.other() / d
       << ", \"init\": " << initialisation / d << ", \"energy_drift\": " << drift
       << ", \"correct\": " << (correct ? "true" : "false") << "}\n";
  if (!file) throw std::runtime_error("can't write " + options.json);
}

/// Whether the result is right: energy kept, data complete on all ranks. Collective.
bool simulate(const Options& options, double initialisation) {
  constexpr double most_drift = 1e-3;
  Simulation simulation(options);
  const double before = simulation.energy();
  simulation.run();
  const double drift = std::abs(simulation.energy() / before - 1);
  const bool correct = simulation.received_all() && drift < most_drift;
  const Breakdown time = breakdown(simulation);
  if (example::rank_of_world() == 0) {
    print(time, initialisation, drift, correct, simulation, options);
    if (!options.json.empty())
      write_json(time, initialisation, drift, correct, simulation, options);
  }
  return correct;
}

} // namespace

int main(int argc, char** argv) {
  return example::run_program(argc, argv, "nbody", usage,
                              [](int count, char** words, double initialisation) {
                                return simulate(parse(count, words), initialisation);
                              });
}
