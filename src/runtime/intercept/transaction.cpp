#include "runtime/intercept/transaction.hpp"

#include <algorithm>
#include <cstring>

namespace thalweg::runtime {

using collective::Kind;

Transaction::Transaction(const Call& call, const Arguments& arguments, const Prepared& prepared,
                         const MpiTransport::Setup& setup)
    : _call(call), _arguments(arguments), _prepared(prepared), _setup(setup) {
  _setup.type = native.byte;
  _setup.op = call.kind == Kind::barrier ? native.bor : call.op;
  if (!arguments.combines || call.kind == Kind::barrier) return;
  _setup.type = arguments.send.side.type;
  _setup.shape = arguments.send.info.shape;
  _setup.contiguous = arguments.send.info.contiguous;
}

void Transaction::prepare(Task& task) {
  if (_arguments.save) save_inputs();
  place_results();
  place_blocks();
  task.places = &_places;
  task.shape = _setup.shape;
  _setup.window = task.window;
}

void Transaction::run(Task task) {
  prepare(task);
  _engine.run(_prepared, layout(), task, _setup);
  unpack_results();
}

void Transaction::start(Task task) {
  prepare(task);
  _layout = layout();
  _engine.start(_prepared, *_layout, task, _setup);
}

Progress Transaction::advance() {
  const Progress progress = _engine.advance();
  if (progress == Progress::done) unpack_results();
  return progress;
}

/// A chunk of a barrier counts as one byte, so that none is left out.
std::int64_t Transaction::units(ChunkId block) const {
  return _call.kind == Kind::barrier ? _prepared.program->parts() : _arguments.units(block);
}

Layout Transaction::layout() const {
  const Program& program = *_prepared.program;
  const Pipeline pipeline = _prepared.pipeline_of(_arguments.shape.size);
  if (_call.kind == Kind::barrier) return program.layout(pipeline, {}, units(0));
  if (!_arguments.uneven) return program.layout(pipeline, _prepared.weights, units(0));
  std::vector<std::int64_t> sizes;
  for (const Program::Block& block : program.blocks())
    sizes.push_back(units(block.id));
  return program.layout(pipeline, _prepared.weights, sizes);
}

void Transaction::save_inputs() {
  const Blocks& send = _arguments.send;
  std::int64_t total = 0;
  for (Rank i = 0; i < send.count; ++i)
    total += units(send.id(i));
  std::byte* to = _engine.acquire(total, _setup.shape);
  std::vector<std::byte*> saved;
  for (Rank i = 0; i < send.count; ++i) {
    bring(i, to);
    saved.push_back(to);
    to += units(send.id(i)) * _setup.shape.extent;
  }
  _saved = std::move(saved);
}

void Transaction::place_results() {
  const Blocks& receive = _arguments.receive;
  std::int64_t total = 0;
  for (Rank i = 0; i < receive.count; ++i)
    if (!is_direct(receive, i)) total += receive.bytes(i);
  std::byte* packed = nullptr;
  if (total > 0) packed = _engine.acquire(total, _setup.shape);
  for (Rank i = 0; i < receive.count; ++i) {
    const bool direct = is_direct(receive, i);
    _results.push_back(direct ? receive.address(i) : packed);
    if (!direct) packed += receive.bytes(i);
    if (const auto input = _arguments.send.find(receive.id(i))) bring(*input, _results.back());
  }
}

/// Returns the input's address if the program can use it in place.
std::optional<std::byte*> Transaction::readable(Rank input, bool written) const {
  if (!_saved.empty()) return _saved[static_cast<std::size_t>(input)];
  if (!is_direct(_arguments.send, input) || written) return std::nullopt;
  return _arguments.send.address(input);
}

void Transaction::place_blocks() {
  const auto place = [&](const Program::Block& block) -> std::optional<std::byte*> {
    if (const auto result = _arguments.receive.find(block.id))
      return _results[static_cast<std::size_t>(*result)];
    const auto input = _arguments.send.find(block.id);
    return input ? readable(*input, block.written) : std::nullopt;
  };
  std::int64_t apart = 0;
  for (const Program::Block& block : _prepared.program->blocks())
    if (!place(block)) apart += units(block.id);
  std::byte* memory = nullptr;
  if (apart > 0) memory = _engine.acquire(apart, _setup.shape);
  if (_call.kind == Kind::barrier && memory != nullptr)
    std::memset(memory, 0, static_cast<std::size_t>(apart));
  _places.clear(_setup.shape.extent);
  std::int64_t begin = 0;
  for (const Program::Block& block : _prepared.program->blocks()) {
    auto at = place(block);
    if (!at) {
      at = memory;
      memory += units(block.id) * _setup.shape.extent;
      if (const auto input = _arguments.send.find(block.id)) bring(*input, *at);
    }
    _places.add(begin, *at);
    begin += units(block.id);
  }
}

/// Copies an input of the call.
void Transaction::bring(Rank input, std::byte* to) {
  const Blocks& send = _arguments.send;
  const std::int64_t units = this->units(send.id(input));
  const auto from = readable(input, false);
  if (units == 0 || from == to) return;
  if (from)
    _engine.copy(*from, to, units, _setup);
  else
    check(pack(send.address(input), send.elements(input), send.type_of(input), send.info_of(input),
               to, {_setup.comm, _setup.tag}));
}

void Transaction::unpack_results() {
  const Blocks& receive = _arguments.receive;
  for (Rank i = 0; i < receive.count; ++i) {
    if (is_direct(receive, i) || receive.bytes(i) == 0) continue;
    const auto input = _arguments.send.find(receive.id(i));
    // At MPI_BOTTOM data of one type may be sent, and of another received.
    const bool in_place = input && _arguments.send.address(*input) == receive.address(i) &&
                          _arguments.send.type_of(*input) == receive.type_of(i);
    if (in_place) continue;
    check(unpack(_results[static_cast<std::size_t>(i)], receive.address(i), receive.elements(i),
                 receive.type_of(i), receive.info_of(i), {_setup.comm, _setup.tag}));
  }
}

void carry_out(Runtime& runtime, const Communicator& communicator, const Call& call,
               const Arguments& arguments, const Prepared& prepared, const CallRecord& record,
               observe::PairTimesLog* pairs) {
  MpiTransport::Setup setup;
  setup.comm = runtime.shadow;
  // One thread calls in the same order on any two ranks, which is the order of their messages.
  setup.tag = data_tag(runtime.multiple_threads ? *communicator.number_for_tags : 0);
  setup.accounts = communicator.accounts.get();
  setup.ranks = communicator.world_ranks.data();
  Task task;
  task.window = record.event.window;
  task.log = record.log(communicator.world_ranks);
  task.log.pairs = pairs;
  Transaction(call, arguments, prepared, setup).run(task);
}

} // namespace thalweg::runtime
