#include "simulator/steady_state.hpp"

#include <array>
#include <cmath>
#include <numeric>

namespace thalweg::simulator {

namespace {

/// The most segments after which a rank may repeat itself: some windows of messages.
constexpr std::int32_t longest_period = 512;
/// The fewest segments that are compared.
constexpr std::int32_t fewest_compared = 8;
/// How much two times may differ, relative to a period, and two ranks' times per segment: while the
/// rhythm holds, what is extrapolated is wrong by at most about as much.
constexpr double tolerance = 1e-4;
constexpr double same_pace = 3 * tolerance;
/// When a rank keeps an even pace, judged by three successive windows, each a quarter of its
/// segments so far.
struct Evenness {
  double drift;                 ///< how much the windows' times per segment may differ, relatively
  std::int32_t shortest_window; ///< segments
  double same_pace;             ///< how much two ranks' times per segment may differ, relatively
};
constexpr std::int32_t windows = 3;
/// By SteadyState::Evidence; repetition needs no even pace.
constexpr std::array<Evenness, 3> evenness = {
    {{0, 0, same_pace}, {0.005, 64, 0.01}, {0.05, 4, 0.1}}};
/// How much the paces of which a guess is made may differ without being doubtful.
constexpr Evenness undoubted = {0.02, 1, 0.02};
/// The fewest segments whose pace is taken for that of the rest.
constexpr std::int32_t fewest_to_guess_from = 8;
/// The rounding of a time, relative to the present.
constexpr double rounding = 1e-12;
/// It isn't worth it to skip fewer segments.
constexpr std::int32_t fewest_skipped = 4;

} // namespace

SteadyState::SteadyState(const Workload& workload, const Ports& ports)
    : _workload(workload), _progress(static_cast<std::size_t>(workload.ranks)) {
  for (std::size_t i = 0; i < workload.transfers(); ++i) {
    const auto transfer = static_cast<std::int32_t>(i);
    if (workload.left_out(transfer)) continue;
    const Template& t = workload.templates[i];
    const Path& path = ports.path(t.connection);
    const double delay = path.latency + path.answer_latency;
    for (const Rank rank : {t.from, t.to})
      progress(rank).delay = std::max(progress(rank).delay, delay);
    progress(t.from).marks.push_back({transfer, &Span::start});
    progress(t.to).marks.push_back({transfer, &Span::end});
    if (t.from != t.to) progress(t.to).marks.push_back({transfer, &Span::posted});
  }
}

std::optional<SteadyState::Skip> SteadyState::find(double now, const execution::Executor& executor,
                                                   const Wire& wire, std::span<const Span> spans,
                                                   std::span<const Frontier> frontiers,
                                                   Evidence evidence) {
  _now = now;
  _evidence = evidence;
  _spans = spans;
  _is_doubtful = false;
  if (!find_rhythms(executor)) return {};
  if (_running.empty() || !is_wire_steady(wire) || !find_common_rhythms() || !are_paces_possible())
    return {};
  const Rhythm slowest = _running.back()->rhythm;
  for (std::int32_t periods = most_periods(slowest); periods > 0; periods -= 1 + periods / 16) {
    if (periods * slowest.period < fewest_skipped) return {};
    count_skipped(slowest, periods);
    if (!is_consistent(frontiers)) continue;
    Skip skip;
    skip.time = periods * slowest.time;
    for (const Progress& own : _progress)
      skip.segments.push_back(own.skipped);
    skip.repeats_each_segment =
        std::ranges::all_of(_running, [](const Progress* own) { return own->rhythm.period == 1; });
    skip.is_doubtful = _is_doubtful;
    skip.per_segment.resize(_progress.size());
    for (const Progress* own : _running)
      skip.per_segment[static_cast<std::size_t>(own - _progress.data())] =
          own->rhythm.per_segment();
    return skip;
  }
  return {};
}

bool SteadyState::find_rhythms(const execution::Executor& executor) {
  _running.clear();
  for (Rank i = 0; i < _workload.ranks; ++i) {
    const Rank rank = (_first + i) % _workload.ranks;
    Progress& own = progress(rank);
    own.skipped = 0;
    if (own.marks.empty()) continue;
    follow(own, executor);
    if (own.is_finished()) continue;
    if (!find_rhythm(own) && !(_evidence != Evidence::repetition && find_pace(own))) {
      _first = rank;
      return false;
    }
    _is_doubtful |= own.is_doubtful;
    _running.push_back(&own);
  }
  return true;
}

std::optional<std::vector<SteadyState::Outlook>>
SteadyState::outlooks(const execution::Executor& executor, std::span<const Span> spans) {
  _spans = spans;
  std::vector<Outlook> outlooks;
  for (Progress& own : _progress) {
    Outlook& outlook = outlooks.emplace_back();
    if (own.marks.empty()) continue;
    follow(own, executor);
    if (own.complete < fewest_to_guess_from) return {};
    const double last = own.sums.back() - own.sums[own.sums.size() - 2];
    const std::int32_t window = own.complete / (windows + 1);
    outlook.per_segment = pace(own, window, 0);
    outlook.is_doubtful = !is_even(own, window);
    outlook.end = last + (own.segments - own.complete) * outlook.per_segment;
  }
  return outlooks;
}

void SteadyState::follow(Progress& own, const execution::Executor& executor) {
  const auto rank = static_cast<Rank>(&own - _progress.data());
  own.begun = executor.begun(rank);
  own.segments = executor.segments(rank);
  complete_segments(own);
}

double SteadyState::mean_end(const Progress& own, std::int32_t window, std::int32_t after) {
  const auto end = static_cast<std::size_t>(own.complete - after * window);
  return (own.sums[end] - own.sums[end - static_cast<std::size_t>(window)]) / window;
}

double SteadyState::time(const Mark& mark, std::int32_t segment) const {
  const auto at = static_cast<std::size_t>(segment) * _workload.transfers() +
                  static_cast<std::size_t>(mark.transfer);
  return at < _spans.size() ? _spans[at].*mark.time : unknown;
}

void SteadyState::complete_segments(Progress& own) {
  for (; own.complete < own.segments; ++own.complete) {
    double end = 0;
    for (const Mark& mark : own.marks) {
      const double at = time(mark, own.complete);
      if (at == unknown) return;
      end = std::max(end, at);
    }
    own.sums.push_back(own.sums.back() + end);
  }
}

bool SteadyState::find_pace(Progress& own) const {
  const Evenness& wanted = evenness[static_cast<std::size_t>(_evidence)];
  const std::int32_t window = own.complete / (windows + 1);
  if (window < wanted.shortest_window) return false;
  const double last = pace(own, window, 0), before = pace(own, window, 1);
  const double mean = (last + before) / 2;
  if (std::min(last, before) <= 0 || std::abs(last - before) > wanted.drift * mean) return false;
  if (_evidence == Evidence::even_pace &&
      window * mean < own.delay + duration(own, own.complete - 1))
    return false;
  own.rhythm = {1, mean};
  own.is_doubtful = !is_even(own, window);
  return true;
}

bool SteadyState::is_even(const Progress& own, std::int32_t window) const {
  const double last = pace(own, window, 0), before = pace(own, window, 1);
  return std::abs(last - before) <= undoubted.drift * before &&
         window * before >= own.delay + duration(own, own.complete - 1);
}

bool SteadyState::find_rhythm(Progress& own) const {
  if (_now < own.earliest) return false;
  const std::int32_t last = own.complete - 1;
  const Mark& mark = own.marks.back();
  for (std::int32_t period = 1; period <= std::min(longest_period, last / 3); ++period) {
    // The mean of as many periods as the shortest comparison takes.
    const std::int32_t periods = std::max(2, std::min(fewest_compared, last) / period);
    const Rhythm rhythm{period, (time(mark, last) - time(mark, last - periods * period)) / periods};
    if (rhythm.time <= 0 || !repeats(own, rhythm)) {
      if (_now < own.earliest) return false; // Another period is no older.
      continue;
    }
    if (!is_in_time(own, rhythm)) return false;
    own.rhythm = rhythm;
    own.is_doubtful = false;
    return true;
  }
  return false;
}

bool SteadyState::differs(const Mark& mark, std::int32_t segment, const Rhythm& rhythm) const {
  return std::abs(time(mark, segment) - time(mark, segment - rhythm.period) - rhythm.time) >
         tolerance * rhythm.time + rounding * _now;
}

double SteadyState::duration(const Progress& own, std::int32_t segment) const {
  double first = _now, last = 0;
  for (const Mark& mark : own.marks) {
    first = std::min(first, time(mark, segment));
    last = std::max(last, time(mark, segment));
  }
  return last - first;
}

bool SteadyState::repeats(Progress& own, const Rhythm& rhythm) const {
  // Backwards, until the last that may have an effect: mostly the first comparison says no.
  const std::int32_t last = own.complete - 1;
  const double needed = own.delay + duration(own, last) + 2 * rhythm.time;
  const std::int32_t fewest = std::max(2 * rhythm.period, fewest_compared);
  double latest = _now;
  for (std::int32_t segment = last; latest > _now - needed || last - segment < fewest; --segment) {
    const double after = latest;
    latest = unknown;
    bool same = segment >= rhythm.period;
    for (std::size_t i = 0; i < own.marks.size() && same; ++i) {
      same = !differs(own.marks[i], segment, rhythm);
      latest = std::max(latest, time(own.marks[i], segment));
    }
    if (same) continue;
    if (last - segment >= fewest) own.earliest = after + needed;
    return false;
  }
  return true;
}

/// Whether everything that is due in segments that aren't complete has happened, at its time.
bool SteadyState::is_in_time(const Progress& own, const Rhythm& rhythm) const {
  const double due = _now - tolerance * rhythm.time - rounding * _now;
  for (auto segment = own.complete; segment < std::min(own.begun, own.segments); ++segment)
    for (const Mark& mark : own.marks) {
      const double before = time(mark, segment - rhythm.period);
      const bool is_known = time(mark, segment) != unknown;
      if (before == unknown ? is_known
          : is_known        ? differs(mark, segment, rhythm)
                            : before + rhythm.time < due)
        return false;
    }
  return true;
}

bool SteadyState::is_wire_steady(const Wire& wire) const {
  return std::ranges::all_of(_workload.templates, [&](const Template& t) {
    const Progress& sender = _progress[static_cast<std::size_t>(t.from)];
    return sender.is_finished() || wire.is_steady(t.connection);
  });
}

bool SteadyState::find_common_rhythms() {
  const double margin = evenness[static_cast<std::size_t>(_evidence)].same_pace;
  std::ranges::stable_sort(_running, {},
                           [](const Progress* own) { return own->rhythm.per_segment(); });
  for (std::size_t begin = 0, end = 0; begin < _running.size(); begin = end) {
    const double fastest = _running[begin]->rhythm.per_segment();
    std::int32_t period = 1;
    double pace = 0;
    for (; end < _running.size(); ++end) {
      const Rhythm& each = _running[end]->rhythm;
      if (each.per_segment() > fastest * (1 + margin)) break;
      _is_doubtful |= each.per_segment() > fastest * (1 + undoubted.same_pace);
      period = std::lcm(period, each.period);
      if (period > 8 * longest_period) return false;
      pace += each.per_segment();
    }
    pace /= static_cast<double>(end - begin);
    for (std::size_t i = begin; i < end; ++i)
      _running[i]->rhythm = {period, pace * period};
  }
  return true;
}

bool SteadyState::are_paces_possible() const {
  for (std::size_t i = 0; i < _workload.transfers(); ++i) {
    const auto id = static_cast<MessageId>(i);
    const Template& t = _workload.templates[i];
    const Progress &sender = _progress[static_cast<std::size_t>(t.from)],
                   &receiver = _progress[static_cast<std::size_t>(t.to)];
    if (_workload.left_out(id) || sender.is_finished() || receiver.is_finished()) continue;
    const double sent = sender.rhythm.per_segment(), received = receiver.rhythm.per_segment();
    if (sent > received || (t.handshake && sent < received)) return false;
  }
  return true;
}

std::int32_t SteadyState::most_periods(const Rhythm& slowest) const {
  double most = std::numeric_limits<std::int32_t>::max();
  for (const Progress* own : _running) {
    const std::int32_t left = own->segments - own->begun - 1;
    const std::int32_t periods = left / own->rhythm.period;
    most = std::min(most, periods * own->rhythm.time / slowest.time);
  }
  return static_cast<std::int32_t>(most);
}

void SteadyState::count_skipped(const Rhythm& slowest, std::int32_t periods) {
  for (Progress* own : _running) {
    const double own_periods = periods * slowest.time / own->rhythm.time;
    own->skipped = static_cast<std::int32_t>(own_periods * (1 + rounding)) * own->rhythm.period;
  }
}

bool SteadyState::is_consistent(std::span<const Frontier> frontiers) const {
  for (std::size_t i = 0; i < frontiers.size(); ++i) {
    const Template& t = _workload.templates[i];
    if (t.from == t.to || _workload.left_out(static_cast<MessageId>(i))) continue;
    const std::int32_t ahead = _progress[static_cast<std::size_t>(t.from)].skipped -
                               _progress[static_cast<std::size_t>(t.to)].skipped;
    if (ahead == 0) continue;
    // All that is posted must have arrived, before and after.
    if (t.handshake || std::min(0, ahead) + frontiers[i].arrived < frontiers[i].posted)
      return false;
  }
  return true;
}

} // namespace thalweg::simulator
