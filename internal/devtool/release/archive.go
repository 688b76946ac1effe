package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// release is one version on its way into archives.
type release struct {
	version, commit, branch, date string
	out, pkg, lists               string
	when                          time.Time
}

// entry is one file of an archive.
type entry struct {
	name, source string
	mode         int64
}

// build compiles one target and packs it; it returns the archive's path.
func (r *release) build(target string) (string, error) {
	system, arch, ok := strings.Cut(target, "/")
	if !ok {
		return "", errors.New("a target has the form os/arch")
	}
	work, err := os.MkdirTemp("", "loam-release-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	binary, licences := filepath.Join(work, "loam"), filepath.Join(work, "licences")
	environment := append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags", r.linkerFlags(), "-o", binary}
	if r.lists != "" {
		args = append(args, "-tags", "console,script")
	}
	if err := command(environment, "go", append(args, r.pkg)...); err != nil {
		return "", err
	}
	if err := r.collectLicences(environment, work, licences); err != nil {
		return "", err
	}
	name := fmt.Sprintf("loam_%s_%s_%s", r.version, system, arch)
	archive := filepath.Join(r.out, name+".tar.gz")
	return archive, r.pack(archive, []entry{
		{name + "/LICENSE", "LICENSE", 0o644},
		{name + "/NOTICE", "NOTICE", 0o644},
		{name + "/README.md", "README.md", 0o644},
		{name + "/THIRD_PARTY_LICENCES.txt", licences, 0o644},
		{name + "/loam", binary, 0o755},
	})
}

// collectLicences builds the licences program for this machine and runs it with
// the target's environment, because what is linked depends on the target.
func (r *release) collectLicences(environment []string, work, out string) error {
	collector := filepath.Join(work, "collector")
	if err := command(os.Environ(), "go", "build", "-buildvcs=false", "-o", collector, "./internal/devtool/licences"); err != nil {
		return err
	}
	return command(environment, collector, "-o", out, "-lists", r.lists, r.pkg)
}

// linkerFlags drop symbol tables and set the build information.
func (r *release) linkerFlags() string {
	const pkg = "github.com/loam-agents/loam/internal/buildinfo."
	return fmt.Sprintf("-s -w -buildid= -X %[1]sVersion=%[2]s -X %[1]sCommit=%[3]s -X %[1]sBranch=%[4]s -X %[1]sDate=%[5]s",
		pkg, r.version, r.commit, r.branch, r.date)
}

func command(environment []string, name string, args ...string) error {
	run := exec.Command(name, args...)
	run.Env, run.Stdout, run.Stderr = environment, os.Stdout, os.Stderr
	if err := run.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return nil
}

// pack writes entries in the given order with nothing that differs between two
// machines: no owner, one time, fixed modes.
func (r *release) pack(archive string, entries []entry) (err error) {
	file, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	compressed, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return err
	}
	tape := tar.NewWriter(compressed)
	for _, e := range entries {
		if err := r.add(tape, e); err != nil {
			return err
		}
	}
	return errors.Join(tape.Close(), compressed.Close())
}

func (r *release) add(tape *tar.Writer, e entry) error {
	source, err := os.Open(e.source)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: e.name, Size: info.Size(), Mode: e.mode,
		ModTime: r.when, Format: tar.FormatUSTAR,
	}
	if err := tape.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(tape, source)
	return err
}

// writeChecksums writes SHA256SUMS in the form that `sha256sum -c` reads.
func writeChecksums(folder string, archives []string) error {
	var sums strings.Builder
	for _, archive := range archives {
		file, err := os.Open(archive)
		if err != nil {
			return err
		}
		hash := sha256.New()
		_, err = io.Copy(hash, file)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", hash.Sum(nil), filepath.Base(archive))
	}
	return os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(sums.String()), 0o644)
}
