"""What shells complete of a command line, and manual pages: each command and option is in them, and the shell takes the script.

    completion_test.py WEFT
"""

import re
import shutil
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)


def output(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True).stdout


def commands():
    """The names in the last list of the help, "Subcommands:"."""
    return re.findall(r"^ {2}([a-z]+) ", output("--help").split("Subcommands:")[1], re.MULTILINE)


def long_options(command):
    return re.findall(r"^ +(?:-\w,? ?)*(--[\w-]+)", output(command, "--help"), re.MULTILINE)


def completed(line):
    """The words that bash offers at the end of this line."""
    words = line.split(" ")
    script = ('source <("$1" completion bash); shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weft; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", script, "bash", PROGRAM, *words], capture_output=True, text=True, check=True)
    return done.stdout.split()


class Bash(unittest.TestCase):
    def test_completes_commands(self):
        self.assertEqual(completed("weft colle"), ["collective"])
        self.assertEqual(set(commands()) - set(completed("weft ")), set())

    def test_completes_every_option_of_every_command(self):
        for command in commands():
            with self.subTest(command):
                self.assertEqual(set(long_options(command)) - set(completed(f"weft {command} --")), set())

    def test_completes_choices_of_an_option(self):
        self.assertEqual(completed("weft run s.yaml --fidelity p"), ["packet"])

    def test_completes_shipped_names_and_then_files(self):
        for line in ("weft collective all_reduce -c h200x4 --algo nvls_", "weft collective all_reduce --cluster dgx_h1",
                     "weft compare s.yaml --clusters dgx_h1", "weft plan --model llama3_7", "weft topo import t.xml --gpu h20"):
            with self.subTest(line):
                kind = {"algo": "algorithms", "cluster": "clusters", "clusters": "clusters", "model": "models", "gpu": "gpus"}
                option, start = line.split(" --")[1].split(" ")
                known = re.findall(r"^(\S+)  ", output("list", kind[option]), re.MULTILINE)
                self.assertEqual(completed(line), [name for name in known if name.startswith(start)])
                self.assertTrue(completed(line))
        self.assertEqual(completed("weft plan --model my_own/"), [])

    def test_completes_words_of_commands(self):
        self.assertEqual(completed("weft collective all_r"), ["all_reduce"])
        self.assertEqual(completed("weft collective --cluster h200x4 all_r"), ["all_reduce"])
        self.assertEqual(completed("weft explain busb"), ["busbw"])
        self.assertEqual(completed("weft list clu"), ["clusters"])
        self.assertEqual(completed("weft schema plan_"), ["plan_result"])

    def test_completes_commands_of_commands_and_their_options(self):
        for command, own in (("topo", "import"), ("trace", "convert"), ("trace", "kernels"), ("trace", "info")):
            with self.subTest(own):
                self.assertIn(own, completed(f"weft {command} "))
                self.assertEqual(completed(f"weft {command} {own[:3]}"), [own])
                options = re.findall(r"^ +(?:-\w,? ?)*(--[\w-]+)", output(command, own, "--help"), re.MULTILINE)
                self.assertEqual(set(options) - set(completed(f"weft {command} {own} --")), set())
        self.assertEqual(completed("weft topo my.yaml "), [])

    def test_leaves_values_and_files_to_the_shell(self):
        self.assertEqual(completed("weft run --set "), [])
        self.assertEqual(completed("weft run "), [])


class OtherShells(unittest.TestCase):
    def test_scripts_are_theirs(self):
        for shell in ("bash", "fish", "zsh"):
            script = output("completion", shell)
            for command in commands():
                self.assertIn(command, script)
            if shutil.which(shell):
                subprocess.run([shell, "-n"], input=script, text=True, check=True)


class Manual(unittest.TestCase):
    def test_pages_name_every_option(self):
        for command in commands():
            page = output("man", command).replace("\\-", "-")
            with self.subTest(command):
                self.assertIn(f".SH NAME\nweft-{command} - ", page)
                self.assertEqual([option for option in long_options(command) if option not in page], [])
        self.assertEqual([command for command in commands() if f"\\fB{command}\\fR" not in output("man")], [])

    def test_commands_of_a_command_have_pages_of_their_own(self):
        for command, own in (("topo", "import"), ("trace", "convert"), ("trace", "kernels"), ("trace", "info")):
            page = output("man", command, own).replace("\\-", "-")
            with self.subTest(own):
                self.assertIn(f".SH NAME\nweft-{command}-{own} - ", page)
                options = re.findall(r"^ +(?:-\w,? ?)*(--[\w-]+)", output(command, own, "--help"), re.MULTILINE)
                self.assertEqual([option for option in options if option not in page], [])
        done = subprocess.run([PROGRAM, "man", "topo", "imprt"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown command 'imprt' of 'weft topo'", done.stderr)

    def test_unknown_command_has_its_nearest(self):
        done = subprocess.run([PROGRAM, "man", "colective"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("collective", done.stderr)


if __name__ == "__main__":
    unittest.main()
