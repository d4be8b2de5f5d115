#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace thalweg::runtime {

/// Notices that the plan for a shape of call lastingly takes another time than it used to, or than
/// was predicted. Its input is agreed on, so that all ranks notice it at the same call.
///
/// A look is off if the plan takes 25 % longer than usual, or 20 % less. As long as nothing is
/// usual, predictions count: a call may take twice as long, or an eighth, since calls may overlap a
/// little; where a rank may leave a call before others enter it, any less. There predictions count
/// for 5 s after the first look and until a look, the third or a later one, doesn't exceed the one
/// before by 10 %: its time is usual.
///
/// Two looks or more that are off in the same direction for three seconds longer than others in
/// between aren't are a drift: a single spike isn't, nor is a link that flaps every two seconds, of
/// which calls between two looks tell; a connection that stalls and catches up for minutes is.
class Watch {
public:
  static constexpr int least_looks = 2;
  static constexpr std::int64_t lasting_ns = 3'000'000'000;

  /// @param cost_ns of a call, agreed; above 0
  /// @param predicted_ns of a call by itself; 0: not known
  /// @param elapsed_ns since the last look
  /// @param may_overlap whether a rank may leave a call before others enter it
  /// @param calm_ns since the last look in which calls took as usual
  void look(std::int64_t cost_ns, std::int64_t predicted_ns, std::int64_t elapsed_ns,
            bool may_overlap, std::int64_t calm_ns = 0);
  /// Whether looks were off, and those since don't outweigh them.
  [[nodiscard]] bool is_off() const { return _looks > 0; }
  /// Whether the last look was the first one that was off.
  [[nodiscard]] bool begins_to_be_off() const { return _looks == 1 && _is_latest_off; }
  [[nodiscard]] bool has_drifted() const { return _looks >= least_looks && _off_ns >= lasting_ns; }
  [[nodiscard]] bool is_slower() const { return _sign > 0; }
  /// Takes the latest time as usual.
  void settle();
  /// Forgets what was usual, since there is another plan.
  void restart() { *this = Watch(); }
  /// Returns what the plan took when it was last as usual; 0: it never was.
  [[nodiscard]] std::int64_t usual_ns() const { return _usual_ns; }
  [[nodiscard]] std::int64_t cost_ns() const { return _cost_ns; }
  /// Returns the most that the plan took at the latest looks, four at most; 0: there was none.
  [[nodiscard]] std::int64_t most_ns() const { return *std::ranges::max_element(_latest_ns); }
  /// Returns a number that differs where the state does.
  [[nodiscard]] std::uint64_t state() const;

private:
  /// Goes on finding out what is usual.
  void fill(std::int64_t passed_ns);

  std::int64_t _usual_ns = 0, _cost_ns = 0;
  std::array<std::int64_t, 4> _latest_ns{}; ///< what the latest looks saw, the last one first
  bool _is_filling = false;                 ///< whether what is usual isn't settled yet
  int _fillings = 0;                        ///< looks by which it changed
  std::int64_t _filling_ns = 0;
  int _looks = 0; ///< that were off
  int _sign = 0;  ///< of those: 1 slower, -1 faster
  bool _is_latest_off = false;
  std::int64_t _off_ns = 0; ///< how much longer calls were off than not
};

} // namespace thalweg::runtime
