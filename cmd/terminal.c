#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/auto.h"
#include "terminal.h"

static void add_unless_ignored(sigset_t *set, int number)
{
	struct sigaction now;

	/* Held back it would come although it is ignored. Source: signal(7), sigprocmask(2). */
	if (!sigaction(number, NULL, &now) && now.sa_handler != SIG_IGN)
		sigaddset(set, number);
}

void terminal_open(struct terminal *t, bool raw)
{
	sigset_t set;

	*t = (struct terminal){ .wanted = raw && isatty(STDIN_FILENO), .signals = -1 };
	sigemptyset(&set);
	add_unless_ignored(&set, SIGINT);
	add_unless_ignored(&set, SIGTERM);
	add_unless_ignored(&set, SIGHUP);
	add_unless_ignored(&set, SIGQUIT);
	if (raw)
		sigaddset(&set, SIGWINCH);
	if (t->wanted) {
		add_unless_ignored(&set, SIGTSTP);
		sigaddset(&set, SIGCONT);
	}
	sigprocmask(SIG_BLOCK, &set, &t->before);
	t->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (t->signals < 0)
		sigprocmask(SIG_SETMASK, &t->before, NULL);
}

void terminal_make_raw(struct terminal *t)
{
	struct termios raw;

	if (!t->wanted || (!t->has_saved && tcgetattr(STDIN_FILENO, &t->saved) < 0))
		return;
	t->has_saved = true;
	raw = t->saved;
	cfmakeraw(&raw);
	t->is_raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void terminal_restore(struct terminal *t)
{
	/* At once: what was written is on its way, and a terminal that is held (Ctrl-S) would
	 * keep us here. */
	if (t->is_raw)
		tcsetattr(STDIN_FILENO, TCSANOW, &t->saved);
	t->is_raw = false;
}

void terminal_close(struct terminal *t)
{
	terminal_restore(t);
	drop_fd(&t->signals);
	sigprocmask(SIG_SETMASK, &t->before, NULL);
}

int terminal_signal(struct terminal *t)
{
	struct signalfd_siginfo s;

	return t->signals >= 0 && read(t->signals, &s, sizeof s) == sizeof s ? (int)s.ssi_signo : 0;
}

void terminal_stop(struct terminal *t)
{
	sigset_t stop;

	terminal_restore(t);
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	/* It goes on here. */
	sigprocmask(SIG_BLOCK, &stop, NULL);
}

void terminal_size(uint16_t *ret_rows, uint16_t *ret_columns)
{
	struct winsize w = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || !w.ws_row)
		ioctl(STDIN_FILENO, TIOCGWINSZ, &w);
	*ret_rows = w.ws_row ? w.ws_row : 24;
	*ret_columns = w.ws_col ? w.ws_col : 80;
}
