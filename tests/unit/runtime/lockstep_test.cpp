#include "algorithms/algorithm.hpp"
#include "bench/message_executor.hpp"
#include "runtime/execute/execution.hpp"
#include "simulator/tree_operations.hpp"
#include "simulator/workload.hpp"
#include "unit/runtime/random_schedules.hpp"
#include "unit/share.hpp"
#include "units/index.hpp"

#include <deque>
#include <doctest/doctest.h>
#include <functional>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>

// The runtime, the simulators and the SimGrid judge must post the same in the same situation: they
// are driven side by side, messages complete in a random order, and after each completion the sets
// of what is posted are compared.

using namespace thalweg;
using collective::Collective;
using collective::Kind;
using collective::no_rank;
using execution::Executor;
using execution::Item;
using runtime::Program;
using runtime::Transport;
using schedule::Schedule;
using simulator::MessageId;
using simulator::Workload;
using test::ChunkId;
using test::How;
using test::Range;
using test::Rank;
using test::Sink;
using test::Transfer;

namespace {

/// One end of a message that was posted.
struct Post {
  MessageId message;
  bool is_send;
  auto operator<=>(const Post&) const = default;
};
using Posts = std::vector<Post>;

/// Somebody who executes a schedule.
class Driver {
public:
  virtual ~Driver() = default;
  virtual Posts start(Rank rank) = 0;
  /// What is posted once these, all of one rank, are complete.
  virtual Posts complete(Rank rank, const Posts& ends) = 0;
  virtual bool finished() = 0;
};

/// The executor with the operations of all ranks, as the time of trees drives it.
class SharedDriver final : public Driver {
public:
  struct Ends {
    std::function<MessageId(Item)> message;
    std::function<Item(MessageId)> sending, receiving;
  };
  SharedDriver(const execution::Operations& operations, const schedule::Pipeline& pipeline,
               int window, const Executor::IsEmpty& is_empty, Ends ends, std::mt19937& random)
      : _ends(std::move(ends)), _random(random) {
    _executor.start(operations, pipeline, window, is_empty);
  }
  Posts start(Rank rank) override {
    _executor.enter(rank);
    return posts();
  }
  Posts complete(Rank rank, const Posts& ends) override {
    const bool one_by_one = _random() % 2 == 0;
    Posts all;
    for (const Post& end : ends) {
      if (end.is_send)
        _executor.sent(_ends.sending(end.message));
      else
        _executor.arrived(_ends.receiving(end.message));
      if (!one_by_one) continue;
      _executor.advance(rank);
      const Posts some = posts();
      all.insert(all.end(), some.begin(), some.end());
    }
    _executor.advance(rank);
    const Posts some = posts();
    all.insert(all.end(), some.begin(), some.end());
    return all;
  }
  bool finished() override { return _executor.finished(); }

private:
  Posts posts() {
    Posts result;
    auto& posts = _executor.posts();
    for (std::size_t i = 0; i < posts.size(); ++i) {
      const Executor::Post post = posts[i];
      if (post.action == Executor::Action::write) _executor.written(post.item);
      if (post.action == Executor::Action::send || post.action == Executor::Action::receive)
        result.push_back({_ends.message(post.item), post.action == Executor::Action::send});
    }
    posts.clear();
    return result;
  }

  Executor _executor;
  Ends _ends;
  std::mt19937& _random;
};

/// Notes what is posted, and moves nothing.
class Notes final : public Transport {
public:
  struct Note {
    Token token;
    Rank peer;
    std::int64_t units;
    bool is_send;
  };
  void send(Token token, Rank to, const std::byte*, std::int64_t units) override {
    notes.push_back({token, to, units, true});
  }
  void receive(Token token, Rank from, std::byte*, std::int64_t units) override {
    notes.push_back({token, from, units, false});
  }
  std::span<const Token> wait() override { throw std::logic_error("the test drives completion"); }
  void copy(const std::byte*, std::byte*, std::int64_t) override {}
  void combine(const std::byte*, std::byte*, std::int64_t) override {}
  std::vector<Note> notes;
};

/// A schedule with sizes, ready for all drivers.
struct Subject {
  Subject(const Collective& collective, Schedule planned)
      : collective(collective), schedule(std::move(planned)), workload(collective, schedule) {
    const ChunkId parts = schedule.chunks() / collective.blocks();
    for (Rank rank = 0; rank < collective.ranks; ++rank) {
      Sink sink;
      for (const Transfer& t : schedule.transfers())
        if (t.from == rank || t.to == rank)
          sink.add(t.from, t.to, t.step, t.how, t.what, t.src, t.dst);
      programs.emplace_back(std::move(sink), rank, schedule.pipeline().period, parts);
      layouts.push_back(layout(programs.back()));
    }
    for (const MessageId id : workload.in_order())
      if (workload.of(id).from != workload.of(id).to)
        traffic[{workload.of(id).from, workload.of(id).to}].push_back(id);
  }
  [[nodiscard]] runtime::Layout layout(const Program& program) const {
    const std::vector<std::int32_t> weights(schedule.weights().begin(), schedule.weights().end());
    if (collective.kind == Kind::barrier) // as runtime::Transaction
      return program.layout(schedule.pipeline(), {}, program.parts());
    if (collective.block_sizes.empty())
      return program.layout(schedule.pipeline(), weights, collective.size);
    std::vector<std::int64_t> sizes;
    for (const Program::Block& block : program.blocks())
      sizes.push_back(collective.block_size(block.id));
    return program.layout(schedule.pipeline(), weights, sizes);
  }

  Collective collective;
  Schedule schedule;
  Workload workload;
  std::vector<Program> programs;
  std::vector<runtime::Layout> layouts;
  std::map<std::pair<Rank, Rank>, std::vector<MessageId>> traffic; ///< in order, by ends
};

/// The runtime, in every rank.
class RuntimeDriver final : public Driver {
public:
  RuntimeDriver(const Subject& subject, int window)
      : _subject(subject), _executions(subject.programs.size()),
        _transports(subject.programs.size()), _places(subject.programs.size()),
        _tokens(2 * subject.workload.sizes.size()), _window(window) {}
  Posts start(Rank rank) override {
    runtime::Places& places = _places[index(rank)];
    places.clear(1);
    // Memory is neither read nor written. Some messages lie in several pieces.
    static std::byte memory[64];
    places.add(0, memory);
    const std::int64_t total = _subject.layouts[index(rank)].total();
    if (rank % 2 == 1 && total > 3) places.add(total / 3, memory + 1 + total / 3);
    runtime::Task task;
    task.places = &places;
    task.window = _window;
    _executions[index(rank)].start(_subject.programs[index(rank)], _subject.layouts[index(rank)],
                                   task, _transports[index(rank)]);
    return posts(rank);
  }
  Posts complete(Rank rank, const Posts& ends) override {
    for (const Post& end : ends)
      _executions[index(rank)].complete(_tokens[place(end)]);
    _executions[index(rank)].advance();
    return posts(rank);
  }
  bool finished() override {
    return std::ranges::all_of(_executions, [](const auto& each) { return each.finished(); });
  }

private:
  static std::size_t place(const Post& end) {
    return 2 * index(end.message) + (end.is_send ? 1 : 0);
  }
  Posts posts(Rank rank) {
    Posts result;
    for (const Notes::Note& note : std::exchange(_transports[index(rank)].notes, {})) {
      const std::pair ends(note.is_send ? rank : note.peer, note.is_send ? note.peer : rank);
      const MessageId message =
          _subject.traffic.at(ends).at(_posted[{ends.first, ends.second, note.is_send}]++);
      if (_subject.collective.kind != Kind::barrier &&
          static_cast<double>(note.units) != _subject.workload.size(message))
        throw std::runtime_error("the sizes of a message differ");
      result.push_back({message, note.is_send});
      _tokens[place(result.back())] = note.token;
    }
    return result;
  }

  const Subject& _subject;
  std::vector<runtime::Execution> _executions;
  std::vector<Notes> _transports;
  std::vector<runtime::Places> _places;
  std::vector<Transport::Token> _tokens;
  std::map<std::tuple<Rank, Rank, bool>, std::size_t> _posted;
  int _window;
};

SharedDriver shared_driver(const Subject& subject, int window, std::mt19937& random) {
  const Workload& workload = subject.workload;
  return {workload.operations,
          workload.pipeline,
          window,
          workload.is_empty(),
          {.message = [&workload](Item item) { return workload.message(item); },
           .sending = [&workload](MessageId id) { return workload.sending(id); },
           .receiving = [&workload](MessageId id) { return workload.receiving(id); }},
          random};
}

/// The executor by messages, which the simulator's engine and the SimGrid judge drive. As for their
/// ranks, what can be put in place waits behind what else happens to the rank.
class MessageDriver final : public Driver {
public:
  MessageDriver(const Workload& workload, int window) : _executor(workload, window) {}
  Posts start(Rank rank) override {
    _executor.enter(rank);
    return posts();
  }
  Posts complete(Rank /*rank*/, const Posts& ends) override {
    Posts all;
    for (const Post& end : ends) {
      if (end.is_send)
        _executor.sent(end.message);
      else
        _executor.arrived(end.message);
      const Posts some = hand_out();
      all.insert(all.end(), some.begin(), some.end());
    }
    const Posts some = posts();
    all.insert(all.end(), some.begin(), some.end());
    return all;
  }
  bool finished() override { return _executor.finished(); }

private:
  Posts hand_out() {
    using Action = bench::MessageExecutor::Action;
    Posts result;
    _executor.hand_out([&](Action action, MessageId message, MessageId /*cause*/) {
      if (action == Action::write) _to_write.push_back(message);
      if (action == Action::send || action == Action::receive)
        result.push_back({message, action == Action::send});
    });
    return result;
  }
  /// Puts in place what can be.
  Posts posts() {
    Posts all = hand_out();
    while (!_to_write.empty()) {
      _executor.written(_to_write.front());
      _to_write.pop_front();
      const Posts some = hand_out();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  bench::MessageExecutor _executor;
  std::deque<MessageId> _to_write;
};

/// Messages whose ends are posted and not complete.
class Open {
public:
  explicit Open(const Workload& workload) : _workload(workload), _sent(workload.sizes.size()) {}
  void add(const Posts& posts) {
    for (const Post& post : posts) {
      if (post.is_send) {
        _sent[index(post.message)] = true;
        if (_awaited.erase(post.message) > 0) _ready.push_back({post.message, false});
        _ready.push_back(post);
      } else if (_sent[index(post.message)]) {
        _ready.push_back(post);
      } else {
        _awaited.emplace(post.message, true);
      }
    }
  }
  [[nodiscard]] Rank rank(const Post& end) const {
    const simulator::Template& t = _workload.of(end.message);
    return end.is_send ? t.from : t.to;
  }
  /// Some of one rank that may be complete now; none if there are none.
  Posts take(std::mt19937& random) {
    Posts result;
    while (!_ready.empty()) {
      std::swap(_ready[random() % _ready.size()], _ready.back());
      if (!result.empty() && rank(result.front()) != rank(_ready.back())) break;
      result.push_back(_ready.back());
      _ready.pop_back();
      if (random() % 3 != 0) break;
    }
    return result;
  }

private:
  const Workload& _workload;
  std::vector<bool> _sent;            ///< by message: its send is posted
  std::map<MessageId, bool> _awaited; ///< receives whose sends aren't posted
  Posts _ready;
};

/// What the drivers posted, if they posted the same.
std::optional<Posts> same(std::vector<Posts> all) {
  for (Posts& posts : all)
    std::ranges::sort(posts);
  for (const Posts& posts : all)
    if (posts != all.front()) return std::nullopt;
  return all.front();
}

/// Drives all to the end. What went wrong, or nothing.
std::string drive(const Subject& subject, const std::vector<Driver*>& drivers,
                  std::mt19937& random) {
  Open open(subject.workload);
  const auto all_post = [&](const auto& post) {
    std::vector<Posts> all;
    for (Driver* const driver : drivers)
      all.push_back(post(*driver));
    const auto posts = same(std::move(all));
    if (posts) open.add(*posts);
    return posts.has_value();
  };
  for (Rank rank = 0; rank < subject.collective.ranks; ++rank)
    if (!all_post([&](Driver& driver) { return driver.start(rank); }))
      return "other posts at first";
  while (true) {
    const Posts ends = open.take(random);
    if (ends.empty()) break;
    if (!all_post([&](Driver& driver) { return driver.complete(open.rank(ends.front()), ends); }))
      return "other posts";
  }
  for (Driver* const driver : drivers)
    if (!driver->finished()) return "deadlock";
  return {};
}

int random_window(std::mt19937& random) {
  constexpr int windows[] = {1, 1, 2, 2, 3, 4, 8, 17, 128};
  return windows[random() % std::size(windows)];
}

/// Drives runtime, simulator and judge through `times` random orders.
void check(const Subject& subject, int times, std::mt19937& random) {
  for (int i = 0; i < times; ++i) {
    const int window = random_window(random);
    CAPTURE(window);
    RuntimeDriver runtime(subject, window);
    SharedDriver together = shared_driver(subject, window, random);
    MessageDriver judge(subject.workload, window);
    if (const std::string fault = drive(subject, {&runtime, &together, &judge}, random);
        !fault.empty())
      FAIL_CHECK(fault);
  }
}

/// Blocks of any sizes, many of them of no bytes, but not all.
std::vector<units::Size> uneven_blocks(ChunkId count, std::mt19937& random) {
  std::vector<units::Size> sizes(index(count));
  for (units::Size& size : sizes)
    size = random() % 3 == 0 ? 0 : static_cast<units::Size>(random() % 40);
  sizes[random() % sizes.size()] = 7;
  return sizes;
}

} // namespace

TEST_CASE("runtime, simulator and judge post the same: any transfers") {
  std::mt19937 random(21);
  for (int i = 0; i < test::share_of(6000, 20); ++i) {
    CAPTURE(i);
    const auto ranks = static_cast<Rank>(1 + random() % 5);
    Collective collective{.kind = random() % 2 == 0 ? Kind::bcast : Kind::allgather,
                          .ranks = ranks};
    const auto parts = static_cast<ChunkId>(1 + random() % 4);
    collective.size = static_cast<units::Size>(1 + random() % 30);
    if (collective.kind == Kind::allgather && random() % 2 == 0)
      collective.block_sizes = uneven_blocks(ranks, random);
    Sink sink;
    test::random_transfers(ranks, collective.blocks() * parts, sink, random);
    const schedule::Pipeline pipeline{static_cast<std::int32_t>(1 + random() % 5),
                                      static_cast<schedule::Step>(1 + random() % 3)};
    const Subject subject(collective,
                          Schedule(collective.blocks() * parts, pipeline, std::move(sink)));
    check(subject, 8, random);
  }
}

TEST_CASE("runtime, simulator and judge post the same: every algorithm") {
  std::mt19937 random(22);
  test::Sample sample(6);
  for (int i = 0; i < test::share_of(12, 6); ++i)
    for (const algorithms::Algorithm* const algorithm : algorithms::all())
      for (const Kind kind : collective::kinds) {
        Collective collective{.kind = kind, .ranks = static_cast<Rank>(1 + random() % 13)};
        if (!algorithm->supports(collective.kind) || !sample.takes_next()) continue;
        if (collective::is_rooted(collective.kind))
          collective.root = static_cast<Rank>(random() % 13) % collective.ranks;
        if (collective.kind != Kind::barrier)
          collective.size = static_cast<units::Size>(1 + random() % 100);
        collective.in_place = collective.kind == Kind::alltoall && random() % 2 == 0;
        const network::Network network = test::random_sites(collective.ranks, random);
        network::Placement placement(index(collective.ranks));
        std::iota(placement.begin(), placement.end(), 0);
        const algorithms::Problem problem{collective, network, placement};
        if (!algorithm->can_do(collective) || algorithm->candidates(problem).empty()) continue;
        CAPTURE(algorithm->name());
        CAPTURE(collective::to_text(collective.kind));
        CAPTURE(collective.ranks);
        CAPTURE(collective.size);
        algorithms::Parameters parameters;
        if (random() % 2 == 0)
          parameters.segment_size = static_cast<units::Size>(1 + random() % 20);
        const auto skeleton = algorithm->build(problem, parameters);
        const Schedule schedule = algorithms::expand(collective.kind, skeleton, collective.size);
        if (collective.blocks() > 1 && random() % 2 == 0)
          collective.block_sizes = uneven_blocks(collective.blocks(), random);
        check(Subject(collective, schedule), test::share_of(24, 4), random);
      }
}

namespace {

struct Tree {
  std::vector<Rank> order, parents;
};

Tree random_tree(const Collective& collective, std::mt19937& random) {
  Tree tree{{}, std::vector<Rank>(index(collective.ranks), no_rank)};
  tree.order.resize(tree.parents.size());
  std::iota(tree.order.begin(), tree.order.end(), 0);
  std::swap(tree.order.front(), tree.order[index(collective.root)]);
  std::shuffle(tree.order.begin() + 1, tree.order.end(), random);
  const std::size_t reach = 1 + random() % 8;
  for (std::size_t i = 1; i < tree.order.size(); ++i)
    tree.parents[index(tree.order[i])] = tree.order[i - 1 - random() % std::min(i, reach)];
  return tree;
}

bool is_down(Kind kind) { return kind == Kind::bcast || kind == Kind::scatter; }

/// One message per rank but the root, with the chunk or with the blocks of the whole subtree.
Schedule schedule_of(const Collective& collective, const Tree& tree) {
  std::vector<std::vector<Range>> below(tree.parents.size());
  const bool has_blocks = collective.blocks() > 1 || collective.kind == Kind::scatter ||
                          collective.kind == Kind::gather;
  for (std::size_t i = tree.order.size(); i-- > 0;) {
    const Rank rank = tree.order[i];
    auto& own = below[index(rank)];
    own.push_back({has_blocks ? rank : 0});
    if (i == 0 || !has_blocks) continue;
    auto& above = below[index(tree.parents[index(rank)])];
    above.insert(above.end(), own.begin(), own.end());
  }
  Sink sink;
  const auto last = static_cast<schedule::Step>(tree.order.size());
  for (std::size_t i = 1; i < tree.order.size(); ++i) {
    const Rank rank = tree.order[i], parent = tree.parents[index(rank)];
    const auto step = static_cast<schedule::Step>(i);
    const How how = collective.kind == Kind::reduce ? How::combine_left : How::copy;
    if (is_down(collective.kind))
      sink.add(parent, rank, step, how, below[index(rank)]);
    else
      sink.add(rank, parent, last - step, how, below[index(rank)]);
  }
  sink.sort();
  return {collective.blocks(), {}, std::move(sink)};
}

} // namespace

TEST_CASE("runtime, simulator and random trees post the same") {
  std::mt19937 random(23);
  for (int i = 0; i < test::share_of(6000, 20); ++i) {
    constexpr Kind kinds[] = {Kind::bcast, Kind::reduce, Kind::scatter, Kind::gather};
    Collective collective{.kind = kinds[random() % 4],
                          .ranks = static_cast<Rank>(1 + random() % 13)};
    collective.root = static_cast<Rank>(random() % 13) % collective.ranks;
    collective.size = static_cast<units::Size>(1 + random() % 30);
    const bool has_blocks = collective.kind == Kind::scatter || collective.kind == Kind::gather;
    if (has_blocks && random() % 2 == 0)
      collective.block_sizes = uneven_blocks(collective.ranks, random);
    CAPTURE(collective::to_text(collective.kind));
    CAPTURE(collective.ranks);
    const Tree tree = random_tree(collective, random);
    const Subject subject(collective, schedule_of(collective, tree));
    std::vector<MessageId> messages(tree.parents.size(), simulator::no_message); // by child
    for (MessageId id = 0; index(id) < subject.workload.sizes.size(); ++id) {
      const simulator::Template& t = subject.workload.of(id);
      if (!subject.workload.left_out(id))
        messages[index(is_down(collective.kind) ? t.to : t.from)] = id;
    }
    simulator::TreeOperations of_tree(
        {.down = is_down(collective.kind), .combines = collective.kind == Kind::reduce},
        collective.ranks);
    of_tree.build(tree.order, tree.parents, [&](Rank rank) { return messages[index(rank)] >= 0; });
    const auto child = [&](MessageId id) {
      return is_down(collective.kind) ? subject.workload.of(id).to : subject.workload.of(id).from;
    };
    for (int order = 0; order < 4; ++order) {
      const int window = random_window(random);
      CAPTURE(window);
      RuntimeDriver runtime(subject, window);
      SharedDriver simulator = shared_driver(subject, window, random);
      SharedDriver trees(
          of_tree.operations(), {}, window, {},
          {.message =
               [&](Item item) {
                 return messages[index(of_tree.operations()[item.operation].transfer)];
               },
           .sending = [&](MessageId id) { return of_tree.sending(child(id)); },
           .receiving = [&](MessageId id) { return of_tree.receiving(child(id)); }},
          random);
      const std::string fault = drive(subject, {&runtime, &simulator, &trees}, random);
      if (!fault.empty()) FAIL_CHECK(fault);
    }
  }
}
